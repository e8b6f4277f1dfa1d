# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The settings that choose the interfaces of nodes: which they may have, and which they have by default.

Names and order are Ironic's (contract: config-options.yaml; engine.md, "Drivers"): what the node names goes before the
default of the setting, that before the first of the hardware type that is enabled. Ironic's lists of enabled interfaces
name what its own drivers have; ours are empty, so that a role that is installed can be used.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field
from pydantic_settings import BaseSettings

Names = tuple[str, ...]


def _enabled(kind: str) -> Any:
    return Field((), description=f"{kind} interfaces that nodes may have; empty: all that installed roles implement.")


def _default(kind: str, name: str | None = None) -> Any:
    return Field(name, description=f"{kind} interface of nodes that name none; null: the hardware type's first.")


class InterfaceSettings(BaseSettings):
    """Two settings for each kind of interface."""

    enabled_bios_interfaces: Names = _enabled("BIOS")
    enabled_boot_interfaces: Names = _enabled("Boot")
    enabled_console_interfaces: Names = _enabled("Console")
    enabled_deploy_interfaces: Names = _enabled("Deploy")
    enabled_firmware_interfaces: Names = _enabled("Firmware")
    enabled_inspect_interfaces: Names = _enabled("Inspect")
    enabled_management_interfaces: Names = _enabled("Management")
    enabled_network_interfaces: Names = _enabled("Network")
    enabled_power_interfaces: Names = _enabled("Power")
    enabled_raid_interfaces: Names = _enabled("RAID")
    enabled_rescue_interfaces: Names = _enabled("Rescue")
    enabled_storage_interfaces: Names = _enabled("Storage")
    enabled_vendor_interfaces: Names = _enabled("Vendor")
    default_bios_interface: str | None = _default("BIOS")
    default_boot_interface: str | None = _default("Boot")
    default_console_interface: str | None = _default("Console")
    default_deploy_interface: str | None = _default("Deploy")
    default_firmware_interface: str | None = _default("Firmware")
    default_inspect_interface: str | None = _default("Inspect")
    default_management_interface: str | None = _default("Management")
    default_network_interface: str | None = _default("Network")
    default_power_interface: str | None = _default("Power")
    default_raid_interface: str | None = _default("RAID")
    default_rescue_interface: str | None = _default("Rescue")
    default_storage_interface: str | None = _default("Storage", "noop")
    default_vendor_interface: str | None = _default("Vendor")

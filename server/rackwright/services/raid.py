# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The RAID configuration that a node is to get (contract: api.yaml, states/raid)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rackwright.domain.errors import Invalid, NotFound
from rackwright.domain.verbs import Interface
from rackwright.services import access, drivers, nodes, validate
from rackwright.services.context import Context, check_unlocked


class RaidNotSupported(NotFound):
    """RAID of {what} cannot be configured: {reason}."""


def change(ident: str, wanted: Mapping[str, Any], *, context: Context) -> None:
    """Store what the RAID steps are to build; an empty object clears it.

    Raise NodeNotFound, RaidNotSupported where the node's RAID interface offers nothing, Invalid or NodeLocked.
    """
    node = nodes.get(ident, context=context, lock=True)
    access.demand("baremetal:node:set_raid_state", node, context=context)
    reason = validate.problem(node, Interface.RAID, context=context)
    if reason is not None:
        raise RaidNotSupported(what=f"node {node.name or node.uuid}", reason=reason)
    roots = [each for each in wanted.get("logical_disks", ()) if each.get("is_root_volume")]
    if len(roots) > 1:
        raise Invalid("The RAID configuration marks more than one logical disk as root volume; mark one of them.")
    check_unlocked(node)
    node.target_raid_config = dict(wanted)
    context.session.add(node)
    context.session.commit()


def check_driver(name: str, *, context: Context) -> None:
    """Raise DriverNotFound, or RaidNotSupported where the driver's default RAID interface offers nothing."""
    access.demand("baremetal:driver:get_raid_logical_disk_properties", context=context)
    default = drivers.get(name, context=context)["default_raid_interface"]
    if not context.catalog.implementation(Interface.RAID, default).supported:
        raise RaidNotSupported(what=f"driver {name}", reason=f"its default RAID interface is {default}")

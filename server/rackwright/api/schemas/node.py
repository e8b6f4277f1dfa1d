# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The fields of a node, in the order of answers."""

from __future__ import annotations

from functools import partial

from rackwright.api.fields import Field, Resource
from rackwright.api.kinds import (
    ANYTHING,
    BOOLEAN,
    IDENT,
    LIST,
    LOWERED,
    NAME,
    OBJECT,
    TEXT,
    TIME,
    UUID_TEXT,
    WORD,
    Kind,
    string,
)
from rackwright.api.links import below, links
from rackwright.domain.states import ProvisionState

_AVAILABLE_SINCE = 2
_INSPECT_WAIT_SINCE = 39


def _state(value: str | None, minor: int) -> str | None:
    """Return the name by which a version knows a state."""
    if value == ProvisionState.AVAILABLE and minor < _AVAILABLE_SINCE:
        return None
    if value == ProvisionState.INSPECT_WAIT and minor < _INSPECT_WAIT_SINCE:
        return ProvisionState.INSPECTING.value
    return value


NETWORK_DATA = Kind(
    {
        "type": "object",
        "anyOf": [
            {"maxProperties": 0, "title": "an empty object"},
            {
                "title": "an object with the lists links, networks and services",
                "required": ["links", "networks", "services"],
                "properties": {
                    name: {"type": "array", "items": {"type": "object"}} for name in ("links", "networks", "services")
                },
            },
        ],
    }
)

_open = partial(Field, create=True, patch=True)
_born = partial(Field, create=True)
_free = partial(Field, kind=OBJECT, create=True, patch=True, default={}, sort=False)
_step = partial(Field, kind=OBJECT, sort=False, secret=True)
_flag = partial(Field, kind=BOOLEAN, default=False)
_interface = partial(Field, kind=WORD.or_null(), create=True, patch=True, about="null chooses the driver's default.")
_moment = partial(Field, kind=TIME.or_null())
_shown = partial(Field, kind=TEXT.or_null())

NODE = Resource(
    "node",
    "nodes",
    (
        _born("uuid", UUID_TEXT, short=True),
        _moment("created_at"),
        _moment("updated_at", about="null until the first change."),
        _open("automated_clean", BOOLEAN.or_null(), 47, about="null follows the setting automated_clean."),
        _interface("bios_interface", since=40),
        _interface("boot_interface", since=31),
        _born("boot_mode", TEXT.or_null(), 75, about="As the BMC tells it."),
        _step("clean_step", since=7, about="The step that is running."),
        _open("conductor_group", LOWERED, 46, default="", about="Kept in lower case."),
        _flag("console_enabled", create=True),
        _interface("console_interface", since=31),
        _flag("disable_power_off", since=95, create=True, patch=True, about="Power off is refused."),
        _interface("deploy_interface", since=31),
        _step("deploy_step", since=44, about="The step that is running."),
        _open("description", string(4096).or_null(), 51),
        _open("driver", WORD, required=True, about="The hardware type."),
        _free("driver_info", secret=True, about="How the BMC and the ramdisk are reached. Secrets are masked."),
        Field("driver_internal_info", OBJECT, 3, secret=True, sort=False, about="What the service notes for itself."),
        _free("extra", about="Free for clients."),
        _shown("fault", since=42),
        _interface("firmware_interface", since=86),
        _shown("health", since=109),
        _moment("inspection_finished_at", since=6),
        _moment("inspection_started_at", since=6),
        _interface("inspect_interface", since=31),
        _free("instance_info", secret=True, about="What is to be deployed. Secrets are masked."),
        _open("instance_name", string(255, shortest=1).or_null(), 104),
        _open("instance_uuid", UUID_TEXT.or_null(), short=True),
        _shown("last_error"),
        _open("lessee", TEXT.or_null(), 65),
        _flag("maintenance", create=True, patch=True, short=True),
        _shown("maintenance_reason"),
        _interface("management_interface", since=31),
        _open("name", NAME.or_null(), 5, short=True, about="Unique."),
        _open("network_data", NETWORK_DATA, 66, default={}, sort=False),
        _interface("network_interface", since=20),
        _open("owner", TEXT.or_null(), 50),
        _open("parent_node", IDENT.or_null(), 83, about="Given as UUID or name, kept as UUID."),
        _interface("power_interface", since=31),
        _shown("power_state", short=True),
        _free("properties", about="Known keys: cpu_arch, cpus, memory_mb, local_gb, capabilities, root_device."),
        _flag("protected", since=48, patch=True, about="Undeploying, rebuilding and deleting are refused."),
        Field("protected_reason", TEXT.or_null(), 48, patch=True),
        _shown("provision_state", short=True, show=_state),
        _moment("provision_updated_at"),
        _step("raid_config", since=12),
        _interface("raid_interface", since=31),
        _interface("rescue_interface", since=38),
        _shown("reservation", about="The host that holds the node's lock."),
        _open("resource_class", string(80).or_null(), 21),
        _flag("retired", since=61, create=True, patch=True),
        _open("retired_reason", TEXT.or_null(), 61),
        _born("secure_boot", BOOLEAN.or_null(), 75, about="As the BMC tells it."),
        _step("service_step", since=87, about="The step that is running."),
        _open("shard", TEXT.or_null(), 82),
        _interface("storage_interface", since=33),
        _shown("target_power_state"),
        _shown("target_provision_state", show=_state),
        _step("target_raid_config", since=12),
        Field("traits", LIST, 37, sort=False, about="Changed below /traits."),
        _interface("vendor_interface", since=31),
        links("nodes/{0[uuid]}"),
        Field("conductor", ANYTHING, 49, sort=False, about="The host that takes care of the node."),
        _shown("allocation_uuid", since=52),
        _open("chassis_uuid", UUID_TEXT.or_null(), unset_since=25),
        below("ports", "nodes/{0[uuid]}/ports"),
        below("states", "nodes/{0[uuid]}/states", since=14),
        below("portgroups", "nodes/{0[uuid]}/portgroups", since=24),
        below("volume", "nodes/{0[uuid]}/volume", since=32),
    ),
)

STATES = Resource(
    "node's states",
    "states",
    tuple(
        NODE.by_name[name]
        for name in (
            *("console_enabled", "last_error", "power_state", "provision_state", "provision_updated_at"),
            *("target_power_state", "target_provision_state", "raid_config", "target_raid_config"),
            *("boot_mode", "secure_boot"),
        )
    ),
)

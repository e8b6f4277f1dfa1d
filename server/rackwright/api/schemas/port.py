# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The fields of a port, in the order of answers."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from rackwright.api.fields import Field, Resource
from rackwright.api.kinds import BOOLEAN, IDENT, MAC, OBJECT, TIME, UUID_TEXT, Kind, own_name, string
from rackwright.api.links import links
from rackwright.domain.errors import NotAcceptableVersion

_SWITCH_ID = re.compile(r"([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}|([0-9a-fA-F]{2}:){7}[0-9a-fA-F]{2}|0x[0-9a-fA-F]{16}")
_KEYS = ("port_id", "switch_id", "hostname", "switch_info", "network_type", "vtep-logical-switch",
         "vtep-physical-switch")  # fmt: skip
_WHOLE = (
    {"port_id", "switch_id"},
    {"port_id", "hostname"},
    {"port_id", "vtep-logical-switch", "vtep-physical-switch"},
)
_UNMANAGED_SINCE = 64
_VTEP_SINCE, _VTEP_UNTIL = 90, 104


def _link(value: dict[str, Any]) -> dict[str, Any]:
    """Check a local_link_connection; raise ValueError."""
    if unknown := sorted(value.keys() - set(_KEYS)):
        raise ValueError(f"{', '.join(unknown)} is unknown; known: {', '.join(_KEYS)}")
    whole = value.get("network_type") == "unmanaged" or any(keys <= value.keys() for keys in _WHOLE)
    if value and not whole:
        raise ValueError("it needs port_id and switch_id, or port_id and hostname, or network_type unmanaged")
    switch = value.get("switch_id")
    if switch is not None and not (isinstance(switch, str) and _SWITCH_ID.fullmatch(switch)):
        raise ValueError("switch_id is neither a MAC address nor an OpenFlow datapath id")
    return value


def _link_rule(value: Any, minor: int) -> None:
    keys = value.keys() if isinstance(value, dict) else ()
    if "network_type" in keys and minor < _UNMANAGED_SINCE:
        raise NotAcceptableVersion(what="network_type", since=_UNMANAGED_SINCE, minor=minor)
    if any(key.startswith("vtep-") for key in keys) and not _VTEP_SINCE <= minor <= _VTEP_UNTIL:
        raise NotAcceptableVersion(
            f"The vtep keys of local_link_connection exist from API version 1.{_VTEP_SINCE} to 1.{_VTEP_UNTIL} only."
        )


LINK = Kind({"type": "object"}, _link)

_open = partial(Field, create=True, patch=True)

PORT = Resource(
    "port",
    "ports",
    (
        Field("uuid", UUID_TEXT, create=True, short=True),
        Field("created_at", TIME.or_null()),
        Field("updated_at", TIME.or_null(), about="null until the first change."),
        _open("address", MAC, required=True, short=True, about="Unique; kept in lower case."),
        _open("extra", OBJECT, default={}, sort=False, about="Free for clients."),
        Field("internal_info", OBJECT, 18, sort=False),
        _open("is_smartnic", BOOLEAN, 53, default=False),
        _open("local_link_connection", LINK, 19, default={}, sort=False, rule=_link_rule),
        _open("physical_network", string(64, shortest=1).or_null(), 34),
        _open("pxe_enabled", BOOLEAN, 19, default=True),
        _open("node_uuid", UUID_TEXT, sort=False),
        Field("node_ident", IDENT, 94, create=True, needs=(), sort=False, write_only=True),
        _open("name", own_name("detail").or_null(), 88, about="Unique."),
        _open("description", string(255).or_null(), 97),
        _open("vendor", string(32).or_null(), 100),
        _open("category", string(80).or_null(), 101),
        _open("available_for_dynamic_portgroup", BOOLEAN, 111, default=True),
        links("ports/{0[uuid]}"),
        _open("portgroup_uuid", UUID_TEXT.or_null(), 24),
    ),
)

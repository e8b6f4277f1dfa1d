# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The fields of a port group, in the order of answers."""

from __future__ import annotations

from functools import partial

from rackwright.api.fields import Field, Resource
from rackwright.api.kinds import BOOLEAN, MAC, OBJECT, TIME, UUID_TEXT, own_name, string
from rackwright.api.links import below, links

_open = partial(Field, create=True, patch=True)

PORTGROUP = Resource(
    "port group",
    "portgroups",
    (
        Field("uuid", UUID_TEXT, create=True, short=True),
        Field("created_at", TIME.or_null()),
        Field("updated_at", TIME.or_null(), about="null until the first change."),
        _open("address", MAC.or_null(), short=True, about="Unique; kept in lower case."),
        _open("extra", OBJECT, default={}, sort=False, about="Free for clients."),
        Field("internal_info", OBJECT, sort=False),
        _open("mode", string(255, shortest=1), 26, about="Default: the setting default_portgroup_mode."),
        _open("name", own_name("detail").or_null(), short=True, about="Unique."),
        _open("properties", OBJECT, 26, default={}, sort=False, about="How the ports are bonded."),
        _open("standalone_ports_supported", BOOLEAN, default=True, about="Its ports may boot on their own."),
        _open("node_uuid", UUID_TEXT, required=True, sort=False),
        _open("physical_network", string(64, shortest=1).or_null(), 102, about="Copied to the ports of the group."),
        _open("category", string(80).or_null(), 103),
        Field("dynamic_portgroup", BOOLEAN, 111),
        links("portgroups/{0[uuid]}"),
        below("ports", "portgroups/{0[uuid]}/ports"),
    ),
)

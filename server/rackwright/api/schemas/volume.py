# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The fields of volume connectors and targets, in the order of answers."""

from __future__ import annotations

from functools import partial

from rackwright.api.fields import Field, Resource
from rackwright.api.kinds import OBJECT, TIME, UUID_TEXT, integer, string
from rackwright.api.links import links

_LARGEST = 2**31 - 1

_open = partial(Field, create=True, patch=True)
_born = (
    Field("uuid", UUID_TEXT, create=True, short=True),
    Field("created_at", TIME.or_null()),
    Field("updated_at", TIME.or_null(), about="null until the first change."),
)
_extra = _open("extra", OBJECT, default={}, sort=False, about="Free for clients.")
_node = _open("node_uuid", UUID_TEXT, required=True, sort=False, short=True)

CONNECTOR = Resource(
    "volume connector",
    "connectors",
    (
        *_born,
        _open("connector_id", string(255, shortest=1), required=True, short=True, about="Unique within its type."),
        _extra,
        _open("type", string(32, shortest=1), required=True, short=True, about="iqn, ip, mac, wwnn, wwpn, ..."),
        links("volume/connectors/{0[uuid]}"),
        _node,
    ),
)

TARGET = Resource(
    "volume target",
    "targets",
    (
        *_born,
        _open("boot_index", integer(-_LARGEST, _LARGEST), required=True, short=True, about="Unique within its node."),
        _extra,
        _open("properties", OBJECT, default={}, sort=False, secret=True, about="Secrets are masked."),
        _open("volume_id", string(36, shortest=1), required=True, short=True),
        _open("volume_type", string(64, shortest=1), required=True, short=True, about="iscsi, fibre_channel, ..."),
        links("volume/targets/{0[uuid]}"),
        _node,
    ),
)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The fields of an allocation, in the order of answers."""

from __future__ import annotations

from rackwright.api.fields import Field, Resource
from rackwright.api.kinds import IDENT, OBJECT, OWN_NAME, TEXT, TIME, TRAITS, UUID_TEXT, Kind, choice, string
from rackwright.api.links import links

_IDENTS = Kind({"type": "array", "items": {"type": "string"}}, lambda values: [IDENT.normal(each) for each in values])

ALLOCATION = Resource(
    "allocation",
    "allocations",
    (
        Field("uuid", UUID_TEXT.or_null(), create=True),
        Field("created_at", TIME.or_null()),
        Field("updated_at", TIME.or_null(), about="null until the first change."),
        Field("candidate_nodes", _IDENTS.or_null(), create=True, sort=False, about="Names or UUIDs; kept as UUIDs."),
        Field("extra", OBJECT.or_null(), create=True, patch=True, default={}, sort=False, about="Free for clients."),
        Field("last_error", TEXT.or_null(), about="Why no node was found, and what to do."),
        Field("name", OWN_NAME.or_null(), create=True, patch=True, about="Unique."),
        Field("owner", TEXT.or_null(), 60, create=True, about="Only nodes of this project are taken."),
        Field("resource_class", string(80).or_null(), create=True, about="Required unless node is given."),
        Field("state", choice("allocating", "active", "error")),
        Field("traits", TRAITS.or_null(), create=True, sort=False, about="The node must have all of them."),
        links("allocations/{0[uuid]}"),
        Field("node_uuid", UUID_TEXT.or_null(), sort=False),
        Field("node", IDENT.or_null(), 58, create=True, needs=(), sort=False, write_only=True,
              about="An active node that is in use already."),
    ),
)  # fmt: skip

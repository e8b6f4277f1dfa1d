# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The fields of a chassis, in the order of answers."""

from __future__ import annotations

from rackwright.api.fields import Field, Resource, Row, Site
from rackwright.api.kinds import LIST, OBJECT, TIME, UUID_TEXT, string
from rackwright.api.links import Link, links, pair


def _nodes(row: Row, site: Site) -> list[list[Link]]:
    """Return the links to the nodes; clients expect a list in a list here."""
    return [pair(site.url, f"chassis/{row['uuid']}/nodes")]


CHASSIS = Resource(
    "chassis",
    "chassis",
    (
        Field("uuid", UUID_TEXT, create=True, short=True),
        Field("created_at", TIME.or_null()),
        Field("updated_at", TIME.or_null(), about="null until the first change."),
        Field("description", string(255).or_null(), create=True, patch=True, short=True),
        Field("extra", OBJECT, create=True, patch=True, default={}, sort=False, about="Free for clients."),
        links("chassis/{0[uuid]}"),
        Field("nodes", LIST, whole_only=True, sort=False, needs=("uuid",), compute=_nodes, about="Links to its nodes."),
    ),
)

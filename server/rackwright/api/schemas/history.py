# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The fields of an entry of a node's history, in the order of answers."""

from __future__ import annotations

from rackwright.api.fields import Field, Resource, Row, Site
from rackwright.api.kinds import INTEGER, LIST, TEXT, TIME


def _links(row: Row, site: Site) -> list[dict[str, str]]:
    return [{"href": f"{site.url}/v1/nodes/{row['node_uuid']}/history/{row['uuid']}", "rel": "self"}]


HISTORY = Resource(
    "history entry",
    "history",
    (
        Field("uuid", TEXT, 78, short=True),
        Field("created_at", TIME, 78, short=True),
        Field("severity", TEXT, 78, short=True, about="ERROR or INFO."),
        Field("event_type", TEXT, 78),
        Field("event", TEXT, 78, short=True, sort=False, about="Cut to 255 characters without detail."),
        Field("conductor", TEXT.or_null(), 78),
        Field("user", TEXT.or_null(), 78),
        Field("project", TEXT.or_null(), 113),
        Field("state", TEXT.or_null(), 115),
        Field("target_provision_state", TEXT.or_null(), 115),
        Field("duration_seconds", INTEGER.or_null(), 115, about="Since the node came into its state."),
        Field("links", LIST, 78, short=True, sort=False, needs=("uuid",), compute=_links),
    ),
)

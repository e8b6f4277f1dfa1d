# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The fields of a BIOS setting, in the order of answers."""

from __future__ import annotations

from rackwright.api.fields import Field, Resource
from rackwright.api.kinds import BOOLEAN, INTEGER, LIST, TEXT, TIME
from rackwright.api.links import links

DETAIL_SINCE = 74

BIOS = Resource(
    "BIOS setting",
    "bios",
    (
        Field("created_at", TIME, short=True),
        Field("updated_at", TIME.or_null(), short=True),
        Field("name", TEXT, short=True),
        Field("value", TEXT.or_null(), short=True),
        Field("attribute_type", TEXT.or_null(), DETAIL_SINCE, about="As the attribute registry of the BIOS calls it."),
        Field("allowable_values", LIST.or_null(), DETAIL_SINCE),
        Field("lower_bound", INTEGER.or_null(), DETAIL_SINCE),
        Field("max_length", INTEGER.or_null(), DETAIL_SINCE),
        Field("min_length", INTEGER.or_null(), DETAIL_SINCE),
        Field("read_only", BOOLEAN.or_null(), DETAIL_SINCE),
        Field("reset_required", BOOLEAN.or_null(), DETAIL_SINCE, about="It works after the next boot only."),
        Field("unique", BOOLEAN.or_null(), DETAIL_SINCE, about="No other machine has this value."),
        Field("upper_bound", INTEGER.or_null(), DETAIL_SINCE),
        links("nodes/{0[node_uuid]}/bios/{0[name]}", needs=("node_uuid", "name")),
    ),
)

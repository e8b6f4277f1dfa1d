# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The fields of a conductor, in the order of answers."""

from __future__ import annotations

from rackwright.api.fields import Field, Resource
from rackwright.api.kinds import BOOLEAN, LIST, TEXT, TIME
from rackwright.api.links import links

CONDUCTOR = Resource(
    "conductor",
    "conductors",
    (
        Field("created_at", TIME, 49),
        Field("updated_at", TIME, 49, about="When it was last seen."),
        Field("hostname", TEXT, 49, short=True),
        Field("conductor_group", TEXT, 49, short=True),
        Field("drivers", LIST, 49, sort=False),
        links("conductors/{0[hostname]}", needs=("hostname",)),
        Field("alive", BOOLEAN, 49, short=True, sort=False, about="Seen lately and not stopped."),
    ),
)

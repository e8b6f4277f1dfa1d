# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The fields of a driver, in the order of answers."""

from __future__ import annotations

from collections.abc import Iterator

from rackwright.api.fields import Field, Resource
from rackwright.api.kinds import LIST, TEXT
from rackwright.api.links import below, links
from rackwright.domain.verbs import Interface

_DYNAMIC_SINCE = 30
_LATER = {Interface.STORAGE: 33, Interface.RESCUE: 38, Interface.BIOS: 40, Interface.FIRMWARE: 86}


def _interfaces() -> Iterator[Field]:
    for kind in Interface:
        since = _LATER.get(kind, _DYNAMIC_SINCE)
        yield Field(f"default_{kind}_interface", TEXT.or_null(), since, sort=False)
        yield Field(f"enabled_{kind}_interfaces", LIST, since, sort=False)


DRIVER = Resource(
    "driver",
    "drivers",
    (
        Field("name", TEXT, short=True, sort=False),
        Field("hosts", LIST, short=True, sort=False, about="The running conductors that serve it."),
        links("drivers/{0[name]}", needs=("name",)),
        below("properties", "drivers/{0[name]}/properties", since=14, needs=("name",), short=True),
        Field("type", TEXT, _DYNAMIC_SINCE, short=True, sort=False),
        *_interfaces(),
    ),
)

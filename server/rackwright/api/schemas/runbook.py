# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The fields of a runbook, in the order of answers."""

from __future__ import annotations

from functools import partial
from typing import Any

from rackwright.api.fields import Field, Resource
from rackwright.api.kinds import BOOLEAN, OBJECT, OWN_NAME, TEXT, TIME, TRAIT, TRAITS, UUID_TEXT, string
from rackwright.api.links import links
from rackwright.api.schemas.steps import RUNBOOK_STEPS

TRAITS_SINCE = 112
"""The version from which a runbook has traits of its own, and so any name."""


def _trait_name(value: Any, minor: int) -> None:
    """Demand that the name is a trait where nothing else can match a node."""
    if minor < TRAITS_SINCE:
        TRAIT.read(value, "name")


_open = partial(Field, create=True, patch=True)

RUNBOOK = Resource(
    "runbook",
    "runbooks",
    (
        Field("uuid", UUID_TEXT, create=True, short=True),
        Field("created_at", TIME.or_null()),
        Field("updated_at", TIME.or_null(), about="null until the first change."),
        _open("name", OWN_NAME, required=True, short=True, rule=_trait_name, about="Unique; below 1.112 a trait."),
        _open("extra", OBJECT, default={}, sort=False, about="Free for clients."),
        _open("public", BOOLEAN, default=False, about="Everybody may use it; it then has no owner."),
        _open("owner", TEXT.or_null()),
        _open("disable_ramdisk", BOOLEAN, default=False, about="Its steps run without the agent."),
        _open("description", string(255).or_null(), TRAITS_SINCE),
        links("runbooks/{0[uuid]}"),
        _open("steps", RUNBOOK_STEPS, required=True, sort=False, secret=True, about="They run in their order."),
        Field("traits", TRAITS, TRAITS_SINCE, sort=False, about="A node needs one of them to run it."),
    ),
)

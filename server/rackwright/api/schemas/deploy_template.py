# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The fields of a deploy template, in the order of answers."""

from __future__ import annotations

from functools import partial

from rackwright.api.fields import Field, Resource
from rackwright.api.kinds import OBJECT, TIME, TRAIT, UUID_TEXT, string
from rackwright.api.links import links
from rackwright.api.schemas.steps import DEPLOY_STEPS

_open = partial(Field, create=True, patch=True)

DEPLOY_TEMPLATE = Resource(
    "deploy template",
    "deploy_templates",
    (
        Field("uuid", UUID_TEXT, create=True, short=True),
        Field("created_at", TIME.or_null()),
        Field("updated_at", TIME.or_null(), about="null until the first change."),
        _open("name", TRAIT, required=True, short=True, about="The trait that asks for it; unique."),
        _open("extra", OBJECT, default={}, sort=False, about="Free for clients."),
        links("deploy_templates/{0[uuid]}"),
        _open("steps", DEPLOY_STEPS, required=True, sort=False, secret=True, about="Priority 0 removes a step."),
        Field("description", string(255).or_null(), create=True, needs=(), sort=False, write_only=True,
              about="Taken, but not kept."),
    ),
)  # fmt: skip

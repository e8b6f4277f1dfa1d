# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The fields of an inspection rule, in the order of answers."""

from __future__ import annotations

from functools import partial
from typing import Any

from rackwright.api.fields import Field, Resource
from rackwright.api.kinds import BOOLEAN, TIME, UUID_TEXT, Kind, choice, integer, string
from rackwright.api.links import links
from rackwright.engine import inspection_grammar
from rackwright.engine.inspection_literals import proved

SINCE = 96

_SHOWN = {"type": ["array", "null"]}
_open = partial(Field, since=SINCE, create=True, patch=True)


def _steps(kind: inspection_grammar.Kind, *, least: int) -> Kind:
    def checked(value: list[Any]) -> list[Any]:
        proved(kind, value)
        return value

    return Kind({"type": "array", "minItems": least, "items": inspection_grammar.schema(kind)}, checked, shown=_SHOWN)


CONDITIONS, ACTIONS = _steps("condition", least=0), _steps("action", least=1)

INSPECTION_RULE = Resource(
    "inspection rule",
    "inspection_rules",
    (
        Field("uuid", UUID_TEXT, SINCE, create=True, short=True),
        Field("created_at", TIME.or_null(), SINCE),
        Field("updated_at", TIME.or_null(), SINCE, about="null until the first change."),
        _open("description", string(255).or_null(), short=True),
        _open("priority", integer(0, 9999), default=0, short=True, about="The greatest runs first."),
        _open("sensitive", BOOLEAN, default=False, about="Hides conditions and actions; cannot be unset."),
        _open("phase", choice("main"), default="main", short=True),
        _open("conditions", CONDITIONS, default=[], sort=False, secret=True, about="All must hold."),
        _open("actions", ACTIONS, required=True, sort=False, secret=True, about="Done in their order."),
        links("inspection/{0[uuid]}"),  # as in Ironic, where nothing is there
    ),
)

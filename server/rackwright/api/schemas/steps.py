# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Steps as clients write them: in requests, deploy templates and runbooks (contract: api.yaml)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from rackwright.api.kinds import Kind

_INTERFACES = ("vendor", "power", "management", "firmware", "deploy", "bios", "raid")
_NUMBERS = ("order", "priority")

Given = list[dict[str, Any]]

NUMBER: Mapping[str, Any] = {
    "anyOf": [
        {"type": "integer", "minimum": 0, "title": "a whole number from 0"},
        {"type": "string", "pattern": "^[0-9]{1,9}$", "title": "a text of 1 to 9 digits"},
    ]
}
"""The schema of an order or a priority."""

COMMON: Mapping[str, Any] = {
    "interface": {"enum": list(_INTERFACES)},
    "step": {"type": "string", "minLength": 1},
    "args": {"type": "object"},
}
"""The keys that every step has."""


def kind_of_steps(
    properties: Mapping[str, Any], required: list[str], *, null: bool = False, stored: bool = False
) -> Kind:
    """Return a kind of lists of steps; what is ``stored`` holds at least one step, and none twice."""
    step = {"type": "object", "properties": dict(properties), "required": required, "additionalProperties": False}
    normal: Callable[[Any], Any] = _stored if stored else _numbered
    schema = {"type": ["array", "null"] if null else "array", "items": step} | ({"minItems": 1} if stored else {})
    return Kind(schema, normal)


def _numbered(steps: Given | None) -> Given | None:
    """Return the steps with order and priority as numbers."""
    if steps is None:
        return None
    return [{key: int(value) if key in _NUMBERS else value for key, value in step.items()} for step in steps]


def _stored(steps: Given) -> Given:
    """Return the steps as we keep them; raise ValueError when one stands there twice."""
    ((interface, name), times), *_ = Counter((each["interface"], each["step"]) for each in steps).most_common(1)
    if times > 1:
        raise ValueError(f"step {interface}.{name} stands there {times} times; keep one of them")
    return [{"args": {}, **each} for each in _numbered(steps) or ()]


DEPLOY_STEPS = kind_of_steps({**COMMON, "priority": NUMBER}, ["interface", "step", "args", "priority"], stored=True)
"""The steps of a deploy template."""

RUNBOOK_STEPS = kind_of_steps({**COMMON, "order": NUMBER}, ["interface", "step", "order"], stored=True)
"""The steps of a runbook."""

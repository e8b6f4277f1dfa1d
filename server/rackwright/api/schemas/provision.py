# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The arguments of provision and power requests (contract: api.yaml, states/provision)."""

from __future__ import annotations

from typing import Any

from rackwright.api.deps import Arg, Args
from rackwright.api.kinds import ANYTHING, BOOLEAN, IDENT, POSITIVE, TEXT, Kind

_INTERFACES = ("vendor", "power", "management", "firmware", "deploy", "bios", "raid")
_NUMBER = {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9]{1,9}$"}]}
_COMMON = {
    "interface": {"enum": list(_INTERFACES)},
    "step": {"type": "string", "minLength": 1},
    "args": {"type": "object"},
}
_CLEAN = {
    **_COMMON,
    "order": _NUMBER,
    "execute_on_child_nodes": {"type": "boolean"},
    "limit_child_node_execution": {"type": "array", "items": {"type": "string", "format": "uuid"}},
}


def _numbers(steps: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
    """Return the steps with order and priority as numbers."""
    if steps is None:
        return None
    numeric = ("order", "priority")
    return [{key: int(value) if key in numeric else value for key, value in step.items()} for step in steps]


def _steps(properties: dict[str, Any], required: list[str]) -> Kind:
    step = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return Kind({"type": ["array", "null"], "items": step}, _numbers)


CLEAN_STEPS = _steps(_CLEAN, ["interface", "step"])
DEPLOY_STEPS = _steps({**_COMMON, "priority": _NUMBER}, ["interface", "step", "args", "priority"])

PROVISION: Args = {
    "target": Arg(TEXT, required=True),
    "configdrive": Arg(ANYTHING),
    "clean_steps": Arg(CLEAN_STEPS),
    "deploy_steps": Arg(DEPLOY_STEPS),
    "service_steps": Arg(CLEAN_STEPS),
    "rescue_password": Arg(TEXT.or_null()),
    "disable_ramdisk": Arg(BOOLEAN.or_null()),
    "runbook": Arg(IDENT.or_null()),
}
"""Which version brought an argument depends on the verb: ``domain.verbs.VERBS``."""

POWER: Args = {"target": Arg(TEXT, required=True), "timeout": Arg(POSITIVE.or_null(), 27)}

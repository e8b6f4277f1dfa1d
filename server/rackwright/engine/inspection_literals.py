# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What can be told of an inspection rule before it runs: arguments without references that can never work.

They are refused when a rule is made, so that no inspection has to fail for them. Braces count as a reference also where
none is replaced, as in paths: clients write such rules. Source: ``contract/engine.md`` section 9.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from rackwright.engine.inspection_actions import (
    NODE,
    PORT,
    ActionFailed,
    Target,
    check_capability,
    check_trait,
    check_url,
    steps_of,
)
from rackwright.engine.inspection_conditions import CannotCompare, subnet
from rackwright.engine.inspection_grammar import Clause, GrammarError, Kind, clauses

Checks = Mapping[str, Callable[[Any], object]]

_OF_NODE: Checks = {"path": NODE.checked}
_OF_PORT: Checks = {"path": PORT.checked}
_OF_DATA: Checks = {"path": steps_of}
_OF_CAPABILITY: Checks = {"name": check_capability, "value": lambda value: check_capability("any", value)}
_CHECKS: Mapping[str, Checks] = MappingProxyType(
    {
        "in-net": {"subnet": subnet},
        "set-attribute": _OF_NODE,
        "extend-attribute": _OF_NODE,
        "del-attribute": {"path": lambda path: NODE.unset(dict.fromkeys(NODE.fields), path)},
        "set-capability": _OF_CAPABILITY,
        "unset-capability": _OF_CAPABILITY,
        "add-trait": {"name": check_trait},
        "set-plugin-data": _OF_DATA,
        "extend-plugin-data": _OF_DATA,
        "unset-plugin-data": _OF_DATA,
        "set-port-attribute": _OF_PORT,
        "extend-port-attribute": _OF_PORT,
        "del-port-attribute": {"path": lambda path: PORT.unset(dict.fromkeys(PORT.fields), path)},
        "api-call": {"url": check_url},
    }
)
_SETTERS: Mapping[str, Target] = MappingProxyType({"set-attribute": NODE, "set-port-attribute": PORT})


def proved(kind: Kind, items: Any) -> tuple[Clause, ...]:
    """Return a list of conditions or actions whose literals can work; raise GrammarError, which counts from 1."""
    found = clauses(kind, items)
    for place, clause in enumerate(found, start=1):
        try:
            _prove(clause)
        except (ActionFailed, CannotCompare) as error:
            raise GrammarError(f"{kind} {place}: op {clause.op}: {error}") from error
    return found


def _prove(clause: Clause) -> None:
    known = {name: value for name, value in clause.args.items() if not _holds_reference(value)}
    for name, check in _CHECKS.get(clause.op, {}).items():
        if name in known:
            check(known[name])
    if (target := _SETTERS.get(clause.op)) is not None and {"path", "value"} <= known.keys():
        field, *below = target.checked(known["path"])
        if not below:
            target.valid(field, known["value"])


def _holds_reference(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_reference, (*value, *value.values())))
    return any(map(_holds_reference, value)) if isinstance(value, list) else isinstance(value, str) and "{" in value

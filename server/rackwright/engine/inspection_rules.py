# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Inspection rules at work: a rule whose conditions all hold does its actions, in order.

Source: ``contract/engine.md`` section 9, "Rules". Reading the rules and storing what they changed is up to the caller.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import yaml

from rackwright.domain.errors import Invalid
from rackwright.engine.inspection import InspectionFailed
from rackwright.engine.inspection_actions import EFFECTS, ActionFailed, Scene, quoted_step
from rackwright.engine.inspection_conditions import OPERATORS, CannotCompare
from rackwright.engine.inspection_grammar import Clause, GrammarError, clauses
from rackwright.engine.inspection_literals import proved
from rackwright.engine.inspection_text import NoSuchData, TextTooLong, Words, is_whole

_MOST_ITEMS = 10_000
_OWN_KEYS = {"uuid", "description", "priority", "sensitive", "phase", "conditions", "actions"}

Unseal = Callable[[dict[str, Any]], dict[str, Any]]


class BuiltInRulesInvalid(Invalid):
    """The file {path} of setting built_in_rules cannot be used: {reason}."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, checked."""

    name: str
    """How texts call it: its UUID and its description."""
    conditions: tuple[Clause, ...]
    actions: tuple[Clause, ...]
    priority: int = 0
    sensitive: bool = False

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Rule:
        """Return the rule that a row holds; raise GrammarError."""
        described = f" ({row['description']})" if row.get("description") else ""
        return cls(
            name=f"{row['uuid']}{described}",
            conditions=clauses("condition", row.get("conditions") or ()),
            actions=clauses("action", row["actions"]),
            priority=row.get("priority", 0),
            sensitive=row.get("sensitive", False),
        )

    def failed(self, where: str, why: object) -> InspectionFailed:
        """Return the error of an inspection that this rule made fail."""
        return InspectionFailed(
            attempted="Running the inspection rules",
            cause=f"inspection rule {self.name}, {where}: {why}",
            action="Correct the rule, or what it complains of, and inspect the node again.",
        )


def in_order(rules: Sequence[Rule]) -> list[Rule]:
    """Return the rules as they run: the greatest priority first, then in the order in which they were made."""
    return sorted(rules, key=lambda rule: -rule.priority)


def built_in(path: Path | None) -> list[Rule]:
    """Return the rules of the operator's file; raise BuiltInRulesInvalid."""
    if path is None:
        return []
    try:
        rows = yaml.safe_load(path.read_text(encoding="utf-8")) or []
        return [Rule.of(_checked(row)) for row in rows]
    except (OSError, UnicodeDecodeError, yaml.YAMLError, GrammarError, TypeError) as error:
        raise BuiltInRulesInvalid(path=path, reason=error) from error


def _checked(row: Any) -> Mapping[str, Any]:
    if not isinstance(row, dict) or not isinstance(row.get("actions"), list) or not row["actions"]:
        raise GrammarError("each rule is an object with a list of actions")
    if unknown := sorted(row.keys() - _OWN_KEYS):
        raise GrammarError(f"a rule has no {', '.join(map(str, unknown))}; known: {', '.join(sorted(_OWN_KEYS))}")
    if not isinstance(row.get("priority", 0), int) or row.get("phase", "main") != "main":
        raise GrammarError("the priority is a whole number, and the phase can only be main")
    proved("condition", row.get("conditions") or ())
    proved("action", row["actions"])
    return {"uuid": str(uuid4()), **row}


def run(rule: Rule, scene: Scene, *, unseal: Unseal | None) -> bool:
    """Do the actions of a rule if all its conditions hold; return whether they did.

    ``unseal`` is given when the rule may see secrets. Raise InspectionFailed, with the rule and the step that failed.
    """
    for place, condition in enumerate(rule.conditions, start=1):
        where = f"condition {place} ({condition.op})"
        if not _guarded(rule, where, partial(_holds, condition, scene, unseal)):
            return False
    for place, action in enumerate(rule.actions, start=1):
        _guarded(rule, f"action {place} ({action.op})", partial(_act, action, scene, unseal))
    return True


def _guarded(rule: Rule, where: str, work: Callable[[], Any]) -> Any:
    try:
        return work()
    except (ActionFailed, CannotCompare) as error:
        raise rule.failed(where, error) from error
    except TextTooLong as error:
        raise rule.failed(where, "a text became longer than 64 KiB when its references were replaced") from error


def _words(scene: Scene, unseal: Unseal | None, **items: Any) -> Words:
    found = {"inventory": scene.inventory, "plugin_data": scene.plugin_data}
    return Words({"node": scene.node, **found, "data": found, **items}, unseal)


def _turns(clause: Clause, words: Words) -> list[Mapping[str, Any]]:
    """Return what ``item`` stands for in each turn; one turn without a loop."""
    if clause.loop is None:
        return [{}]
    loop = clause.loop
    try:
        loop = words.whole(loop) if isinstance(loop, str) else words.fill(loop)
    except NoSuchData:
        raise ActionFailed(f"the loop over {loop} finds no such data") from None
    if isinstance(loop, dict):
        turns: list[Mapping[str, Any]] = [{"item": key, "key": key, "value": value} for key, value in loop.items()]
    elif isinstance(loop, list):
        turns = [{"item": each} for each in loop]
    else:
        raise ActionFailed(f"the loop over {clause.loop} finds neither a list nor an object")
    if len(turns) > _MOST_ITEMS:
        raise ActionFailed(f"the loop has {len(turns)} items, more than {_MOST_ITEMS}")
    return turns


def _filled(clause: Clause, words: Words) -> dict[str, Any]:
    """Return the arguments with references replaced.

    A machine told what is put in. In a URL and in a path it is therefore quoted: it stays the part that it is put into.
    A path that is nothing but a reference is the path that the reference names.
    """
    return {
        name: words.fill(value, quote=_quoting(name, value)) if name in clause.texts else value
        for name, value in clause.args.items()
    }


def _quoting(name: str, value: Any) -> Callable[[str], str]:
    if name == "url":
        return partial(quote, safe="")
    return quoted_step if name == "path" and not is_whole(value) else str


def _holds(clause: Clause, scene: Scene, unseal: Unseal | None) -> bool:
    words = _words(scene, unseal)
    judged = []
    for turn in _turns(clause, words):
        own = replace(words, data={**words.data, **turn})
        judged.append(OPERATORS[clause.op](_with_values(_filled(clause, own), clause, own)))
        if clause.multiple == "first" or (clause.multiple == "any" and judged[-1]):
            break
    held = all(judged) if clause.multiple == "all" else any(judged[-1:])
    return held is not clause.inverted


def _with_values(args: dict[str, Any], clause: Clause, words: Words) -> dict[str, Any]:
    """Put in the list itself where ``values`` is nothing but a reference to one."""
    values = clause.args.get("values")
    if isinstance(values, str):
        try:
            args["values"] = words.whole(values)
        except NoSuchData:
            args["values"] = []
    return args


def _act(clause: Clause, scene: Scene, unseal: Unseal | None) -> None:
    for turn in _turns(clause, _words(scene, unseal)):
        EFFECTS[clause.op](scene, _filled(clause, _words(scene, unseal, **turn)))

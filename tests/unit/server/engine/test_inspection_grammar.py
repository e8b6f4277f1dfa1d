# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from rackwright.engine.inspection_grammar import ACTIONS, CONDITIONS, GrammarError, clauses


@pytest.mark.parametrize(
    ("kind", "item", "why"),
    [
        ("condition", "eq", '"eq" is not a JSON object'),
        ("condition", {"op": "eq"}, "the key args is missing"),
        ("condition", {"op": "nearly", "args": {}}, "op nearly is unknown"),
        ("condition", {"op": "eq", "args": {"values": [1]}}, "values"),
        ("condition", {"op": "eq", "args": {"values": [1, 2], "more": 1}}, "more"),
        ("condition", {"op": "is-true", "args": {}}, "value"),
        ("condition", {"op": "is-true", "args": [1, 2]}, "takes 1 arguments"),
        ("condition", {"op": "matches", "args": {"value": "a", "regex": "("}}, "no regular expression"),
        ("condition", {"op": "eq", "args": [1, 1], "multiple": "some"}, "some"),
        ("condition", {"op": "eq", "args": [1, 1], "loop": 5}, "loop"),
        ("condition", {"op": 5, "args": []}, "op"),
        ("action", {"op": "explode", "args": {}}, "op explode is unknown"),
        ("action", {"op": "!fail", "args": {"msg": ""}}, "op !fail is unknown"),
        ("action", {"op": "fail", "args": {}}, "msg"),
        ("action", {"op": "fail", "args": {"msg": "a"}, "multiple": "any"}, "multiple"),
        ("action", {"op": "log", "args": {"msg": "a", "level": "loud"}}, "loud"),
        ("action", {"op": "api-call", "args": {"url": "http://x", "retries": 1000}}, "retries"),
        ("action", {"op": "set-attribute", "args": {"path": 1, "value": 1}}, "path"),
    ],
)
def test_what_does_not_fit_the_grammar_is_told_with_its_place(kind: Any, item: Any, why: str) -> None:
    with pytest.raises(GrammarError) as refused:
        clauses(kind, [item])
    assert str(refused.value).startswith(f"{kind} 1: ")
    assert why in str(refused.value)


def test_the_manual_tells_every_operator_and_action_with_its_arguments() -> None:
    manual = (Path(__file__).parents[4] / "docs" / "howto" / "inspection-rules.md").read_text()
    rows = [re.findall(r"`([^`]+)`", line) for line in manual.splitlines() if line.startswith("| `")]
    for name, form in {**CONDITIONS, **ACTIONS}.items():
        (row,) = [row for row in rows if name in row]
        assert set(form.args) <= set(row), name

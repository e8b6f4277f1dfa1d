# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Texts about values that do not fit say what was given and what is expected, in words."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from rackwright.domain.wording import clipped, place, problem, shortened

NAME = {"anyOf": [{"type": "string", "minLength": 1, "maxLength": 80}, {"type": "null"}]}
STEPS = {
    "type": ["array", "null"],
    "minItems": 1,
    "items": {
        "type": "object",
        "properties": {"step": {"type": "string"}, "args": {"type": "object"}, "kind": {"enum": ["bios", "raid"]}},
        "required": ["step"],
        "additionalProperties": False,
    },
}


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (NAME, 5, ": 5 is not a text of 1 to 80 characters or null"),
        (NAME, "", ': "" is not a text of 1 to 80 characters or null'),
        (NAME, "n" * 300, f': "{"n" * 60}... (300 characters)" is not a text of 1 to 80 characters or null'),
        ({"type": ["boolean", "string"]}, 5, ": 5 is not true or false"),
        ({"type": ["integer", "string"], "minimum": 0, "maximum": 9}, 10, ": 10 is not a whole number from 0 to 9"),
        (
            {"anyOf": [{"type": "integer", "title": "a count"}, {"pattern": "^[0-9]$", "title": "a digit"}]},
            "high",
            ': "high" is not a count or a digit',
        ),
        ({"anyOf": [{"type": "integer"}, {"const": "MAX"}]}, "x", ': "x" is not a whole number or "MAX"'),
        ({"const": 1}, 2, ": 2 is not 1"),
        ({"anyOf": [{"type": "object", "maxProperties": 0}, {"type": "object"}]}, 5, ": 5 is not a JSON object"),
        (STEPS, {}, ": a JSON object is not a list or null"),
        (STEPS, [], ": the list has 0 items; it needs 1 at least"),
        (STEPS, [{"step": "a"}, {"step": "b", "args": []}], "[1].args: a list is not a JSON object"),
        (STEPS, [{"step": "a", "kind": "x"}], '[0].kind: "x" is not one of bios, raid'),
        (STEPS, [{"step": "a", "more": 1}], "[0]: unknown: more; known keys: step, args, kind"),
        (STEPS, [{}], "[0]: the key step is missing"),
        ({"uniqueItems": True}, [1, 1], ": [1, 1] has non-unique elements"),
    ],
)
def test_a_problem_names_its_place_the_value_and_what_is_expected(schema: Any, value: Any, text: str) -> None:
    found = problem(Draft202012Validator(schema), value)
    assert found is not None
    where, why = found
    assert f"{place(where)}: {why}" == text


def test_a_value_that_fits_is_no_problem() -> None:
    assert problem(Draft202012Validator(NAME), None) is None


def test_words_longer_than_any_name_are_cut_and_others_are_not() -> None:
    assert shortened(f"Node {'n' * 5000} is gone.") == f"Node {'n' * 60}... (5000 characters) is gone."
    assert shortened(f"Node {'n' * 255} is gone.") == f"Node {'n' * 255} is gone."
    assert clipped("a b " * 1000) == f"{('a b ' * 15)}... (4000 characters)"

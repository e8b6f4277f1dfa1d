# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Texts about values that do not fit: what was given and what is expected, and short, whatever a client sends."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

_LONGEST_VALUE, _LONGEST_WORD, _KEPT, _LONGEST_TEXT = 100, 255, 60, 600
_LONG_WORD = re.compile(rf"\S{{{_LONGEST_WORD + 1},}}")
_TYPES = {
    "array": "a list",
    "boolean": "true or false",
    "integer": "a whole number",
    "null": "null",
    "number": "a number",
    "object": "a JSON object",
    "string": "a text",
}
_ALTERNATIVES = ("anyOf", "oneOf")
_SPELLED = ("boolean", "integer")  # types that a query holds as text


def shortened(text: str) -> str:
    """Return a text in which words longer than any name are cut, with their length instead of the rest."""
    return _LONG_WORD.sub(lambda found: _cut(found[0]), text)


def clipped(text: str) -> str:
    """Return a text about one value, cut where the value makes it too long."""
    short = shortened(text)
    return short if len(short) <= _LONGEST_TEXT else _cut(short)


def shown(value: Any) -> str:
    """Return a value as a text shows it: in JSON, but only the kind of an object or a list."""
    if isinstance(value, dict):
        return _TYPES["object"]
    if isinstance(value, list):
        return _TYPES["array"]
    if isinstance(value, str) and len(value) > _LONGEST_VALUE:
        return f'"{_cut(value)}"'
    return json.dumps(value, ensure_ascii=False)


def place(path: Iterable[object]) -> str:
    """Return where in a value something is, as ``[0].args``; empty for the value itself."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)


def problem(validator: Draft202012Validator, value: Any) -> tuple[tuple[object, ...], str] | None:
    """Return where a value does not fit its schema, and in words how; None for one that fits."""
    found = best_match(validator.iter_errors(value))
    if found is None:
        return None
    while (above := found.parent) is not None and above.validator in _ALTERNATIVES and not found.relative_path:
        found = above  # it is about the same value: tell all that it may be
    say = _PROBLEMS.get(str(found.validator))
    text = clipped(found.message) if say is None else say(found.schema, found.instance, found.validator_value)
    return tuple(found.absolute_path), text


def expected(schema: Mapping[str, Any]) -> str:
    """Return what a schema wants, in words; its ``title`` where it has one."""
    if "title" in schema:
        return str(schema["title"])
    for key in _ALTERNATIVES:
        if key in schema:
            return " or ".join(dict.fromkeys(map(expected, schema[key])))
    if "const" in schema:
        return shown(schema["const"])
    if "enum" in schema:
        return f"one of {', '.join(map(str, schema['enum']))}"
    if schema.get("format") == "uuid":
        return "a UUID"
    given = schema.get("type", ())
    types = [given] if isinstance(given, str) else list(given)
    if any(each in types for each in _SPELLED):
        types = [each for each in types if each != "string"]
    return (" or ".join(_TYPES[each] for each in types) or "any value") + _limits(schema)


def _limits(schema: Mapping[str, Any]) -> str:
    for least, most, what in (("minLength", "maxLength", " characters"), ("minimum", "maximum", "")):
        low, high = schema.get(least), schema.get(most)
        if low and high is not None:
            return f" of {low} to {high}{what}" if what else f" from {low} to {high}"
        if high is not None:
            return f" of at most {high}{what}" if what else f" from {low or 0} to {high}"
        if low is not None:
            return f" of at least {low}{what}"
    return ""


def _cut(text: str) -> str:
    return f"{text[:_KEPT]}... ({len(text)} characters)"


def _mismatch(schema: Any, value: Any, _rule: Any) -> str:
    return f"{shown(value)} is not {expected(schema)}"


def _missing(_schema: Any, value: Any, names: Any) -> str:
    missing = [name for name in names if name not in value]
    many = len(missing) > 1
    return f"the key{'s' if many else ''} {', '.join(missing)} {'are' if many else 'is'} missing"


def _unknown(schema: Any, value: Any, _rule: Any) -> str:
    known = schema.get("properties", {})
    names = ", ".join(sorted(name for name in value if name not in known))
    return f"unknown: {shortened(names)}; known keys: {', '.join(known)}"


def _too_few(_schema: Any, value: Any, least: Any) -> str:
    return f"the list has {len(value)} items; it needs {least} at least"


_PROBLEMS: Mapping[str, Callable[[Any, Any, Any], str]] = {
    **dict.fromkeys(
        ("type", "enum", "const", "format", "pattern", "minLength", "maxLength", "minimum", "maximum"), _mismatch
    ),
    **dict.fromkeys(_ALTERNATIVES, _mismatch),
    "required": _missing,
    "additionalProperties": _unknown,
    "minItems": _too_few,
}

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The grammar of inspection rules: every operator and action with its arguments, as data.

A rule holds conditions and actions. Both are objects with ``op``, ``args`` and maybe ``loop``. Source:
``contract/engine.md`` section 9, "Rules".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Literal

import regex
from jsonschema import Draft202012Validator

from rackwright.domain.wording import problem

Json = Mapping[str, Any]


class GrammarError(ValueError):
    """A condition or an action is not written as the grammar wants it; the text says where and what is wrong."""


@dataclass(frozen=True)
class Form:
    """What one operator or action takes: the schema of each argument, in the order of the list form."""

    args: Json
    optional: Json = field(default_factory=dict)
    """Arguments that may be left out, with their defaults."""
    texts: tuple[str, ...] = ()
    """Arguments in which references to data are replaced; within a loop it is all of them."""
    gathers: bool = False
    """In the list form, all items together are the first argument."""

    @cached_property
    def validator(self) -> Draft202012Validator:
        """Return what checks the arguments."""
        required = [name for name in self.args if name not in self.optional]
        return Draft202012Validator(
            {"type": "object", "properties": dict(self.args), "required": required, "additionalProperties": False}
        )

    def named(self, args: Any) -> dict[str, Any]:
        """Return arguments by name; a list is taken in the order of the form. Raise GrammarError."""
        if isinstance(args, dict):
            return dict(args)
        if self.gathers:
            return {next(iter(self.args)): args}
        if len(args) > len(self.args):
            raise GrammarError(f"takes {len(self.args)} arguments ({', '.join(self.args)}), {len(args)} are given")
        return dict(zip(self.args, args, strict=False))


_TEXT = {"type": "string"}
_VALUES = {"type": "array", "minItems": 2}
_FLAG = {"type": "boolean"}
_VALUE: Json = {}
_ITEMS = {"type": ["array", "string"]}
_NUMBER = {"type": "number", "minimum": 0, "maximum": 60}
_COUNT = {"type": "integer", "minimum": 0, "maximum": 10}

_compare = Form({"values": _VALUES, "force_strings": _FLAG}, {"force_strings": False}, ("values",), gathers=True)
_judge = Form({"value": _VALUE}, texts=("value",))
_match = Form({"value": _VALUE, "regex": _TEXT}, texts=("value",))

CONDITIONS: Mapping[str, Form] = MappingProxyType(
    {
        "eq": _compare,
        "lt": _compare,
        "gt": _compare,
        "is-empty": _judge,
        "is-none": _judge,
        "is-true": _judge,
        "is-false": _judge,
        "in-net": Form({"address": _TEXT, "subnet": _TEXT}, texts=("address", "subnet")),
        "matches": _match,
        "contains": _match,
        "one-of": Form({"value": _VALUE, "values": _ITEMS}, texts=("value", "values")),
    }
)
"""The operators of conditions."""

_port = {"port_id": _TEXT}
_set = partial(Form, texts=("port_id", "value"))
_extension = {"path": _TEXT, "value": _VALUE, "unique": _FLAG}
_once = {"unique": False}
_name = Form({"name": _TEXT}, texts=("name",))

ACTIONS: Mapping[str, Form] = MappingProxyType(
    {
        "fail": Form({"msg": _TEXT}, texts=("msg",)),
        "log": Form(
            {"msg": _TEXT, "level": {"enum": ["debug", "info", "warning", "error", "critical"]}},
            {"level": "info"},
            ("msg",),
        ),
        "set-attribute": _set({"path": _TEXT, "value": _VALUE}),
        "extend-attribute": _set(_extension, _once),
        "del-attribute": Form({"path": _TEXT}),
        "set-capability": Form({"name": _TEXT, "value": _VALUE}, texts=("name", "value")),
        "unset-capability": _name,
        "add-trait": _name,
        "remove-trait": _name,
        "set-plugin-data": _set({"path": _TEXT, "value": _VALUE}),
        "extend-plugin-data": _set(_extension, _once),
        "unset-plugin-data": Form({"path": _TEXT}),
        "set-port-attribute": _set({**_port, "path": _TEXT, "value": _VALUE}),
        "extend-port-attribute": _set({**_port, **_extension}, _once),
        "del-port-attribute": Form({**_port, "path": _TEXT}, texts=("port_id",)),
        "api-call": Form(
            {
                "url": _TEXT,
                "headers": {"type": ["object", "null"], "additionalProperties": _TEXT},
                "proxies": {"type": ["object", "null"], "additionalProperties": _TEXT},
                "timeout": _NUMBER,
                "retries": _COUNT,
                "backoff_factor": _NUMBER,
            },
            {"headers": None, "proxies": None, "timeout": 5, "retries": 3, "backoff_factor": 0.3},
            ("url",),
        ),
    }
)
"""The actions."""

Kind = Literal["condition", "action"]
_FORMS: Mapping[Kind, Mapping[str, Form]] = {"condition": CONDITIONS, "action": ACTIONS}
_MULTIPLE = ("any", "all", "first", "last")


@dataclass(frozen=True, slots=True)
class Clause:
    """One condition or action, checked: its operator, its arguments with defaults, and what it loops over."""

    op: str
    args: Json
    form: Form
    inverted: bool = False
    loop: Any = None
    multiple: str = "any"

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the arguments in which references are replaced."""
        return self.form.texts if self.loop is None else tuple(self.args)


def schema(kind: Kind) -> dict[str, Any]:
    """Return the JSON schema of a condition or an action; the arguments of each operator are checked by ``clause``."""
    properties: dict[str, Any] = {
        "op": {"type": "string", "description": f"One of {', '.join(_FORMS[kind])}"},
        "args": {"type": ["object", "array"]},
        "loop": {"type": ["array", "object", "string", "null"], "description": "What {item} stands for, in turn."},
    }
    if kind == "condition":
        properties["op"]["description"] += "; ! in front inverts it."
        properties["multiple"] = {"enum": [*_MULTIPLE]}
    return {"type": "object", "properties": properties, "required": ["op", "args"], "additionalProperties": False}


_SHAPES: Mapping[Kind, Draft202012Validator] = {kind: Draft202012Validator(schema(kind)) for kind in _FORMS}


def clause(kind: Kind, item: Any) -> Clause:
    """Return a condition or an action in the form that can be carried out; raise GrammarError."""
    _check(_SHAPES[kind], item)
    op, inverted = _operator(item["op"]) if kind == "condition" else (item["op"], False)
    form = _FORMS[kind].get(op)
    if form is None:
        raise GrammarError(f"op {item['op']} is unknown; known: {', '.join(_FORMS[kind])}")
    try:
        args = form.named(item["args"])
        _check(form.validator, args)
        if item.get("loop") is None:
            _check_regex(args)
    except GrammarError as error:
        raise GrammarError(f"op {op}: {error}") from error
    return Clause(op, {**form.optional, **args}, form, inverted, item.get("loop"), item.get("multiple", "any"))


def clauses(kind: Kind, items: Any) -> tuple[Clause, ...]:
    """Return a whole list of conditions or actions; raise GrammarError, which counts from 1."""
    found = []
    for place, item in enumerate(items, start=1):
        try:
            found.append(clause(kind, item))
        except GrammarError as error:
            raise GrammarError(f"{kind} {place}: {error}") from error
    return tuple(found)


def _operator(text: str) -> tuple[str, bool]:
    """Return the operator without its inversion, ``!`` or ``not``."""
    plain = text.strip()
    if plain.startswith("!"):
        return plain[1:].strip(), True
    return (plain[4:].strip(), True) if plain.startswith("not ") else (plain, False)


def _check(validator: Draft202012Validator, value: Any) -> None:
    if (found := problem(validator, value)) is not None:
        path, reason = found
        where = "".join(f"{part}: " for part in path)
        raise GrammarError(f"{where}{reason}")


def _check_regex(args: Json) -> None:
    try:
        regex.compile(args.get("regex", ""))
    except (regex.error, OverflowError) as error:
        raise GrammarError(f"regex {args['regex']!r} is no regular expression: {error}") from error

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Kinds of values: what a client may send as one, and the form in which we keep it (contract: api.yaml, types)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from jsonschema import Draft202012Validator

from rackwright.domain.errors import Invalid
from rackwright.domain.wording import clipped, place, problem
from rackwright.engine.traits import is_trait


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value: its JSON schema, and the function that brings a valid value into the form we keep."""

    schema: Mapping[str, Any]
    normal: Callable[[Any], Any] = _same
    repeated: bool = False  # a query argument that may be given several times
    shown: Mapping[str, Any] | None = None  # the schema of answers, where clients may write a value in more ways
    _validator: Draft202012Validator = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_validator", Draft202012Validator(dict(self.schema)))

    @property
    def outcome(self) -> Mapping[str, Any]:
        """Return the schema of the value in answers."""
        return self.schema if self.shown is None else self.shown

    def read(self, value: Any, name: str) -> Any:
        """Return the value in the form we keep; raise Invalid, which names the argument and what is wrong."""
        if (found := problem(self._validator, value)) is not None:
            where, reason = found
            raise Invalid(f"Schema error for {name}{place(where)}: {reason}.")
        try:
            return self.normal(value)
        except ValueError as error:
            raise Invalid(f"Schema error for {name}: {clipped(str(error))}.") from error

    def or_null(self) -> Kind:
        """Return the kind that also takes null."""
        return replace(
            self,
            schema={"anyOf": [dict(self.schema), {"type": "null"}]},
            shown={"anyOf": [dict(self.outcome), {"type": "null"}]},
            normal=lambda value: None if value is None else self.normal(value),
        )


def string(longest: int = 255, *, shortest: int = 0) -> Kind:
    """Return the kind of texts of limited length."""
    return Kind({"type": "string", "minLength": shortest, "maxLength": longest})


def choice(*values: str) -> Kind:
    """Return the kind of texts that are one of these."""
    return Kind({"type": "string", "enum": list(map(str, values))})


def _uuid(value: str) -> str:
    try:
        return str(UUID(value))
    except ValueError:
        raise ValueError(f"{value!r} is not a UUID") from None


_NAME = re.compile(r"[A-Za-z0-9._~-]{1,255}")


def is_uuid(value: str) -> bool:
    """Return whether the text is a UUID in any spelling."""
    try:
        UUID(value)
    except ValueError:
        return False
    return True


def _name(value: str) -> str:
    if not _NAME.fullmatch(value):
        raise ValueError(f"{value!r} is not a name; names consist of letters, digits and . _ ~ - (255 at most)")
    return value


def own_name(*words: str) -> Kind:
    """Return the kind of names that are no UUID, and none of the words that stand where a name does in paths."""

    def checked(value: str) -> str:
        if is_uuid(value) or value in words:
            what = "a UUID" if is_uuid(value) else "a word of the API's paths"
            raise ValueError(f"{value!r} is {what}, which cannot be a name")
        return _name(value)

    return Kind(_STRING, checked)


def _ident(value: str) -> str:
    return _uuid(value) if is_uuid(value) else _name(value)


_STRING = {"type": "string"}
_MAC = re.compile(r"([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}")


def _mac(value: str) -> str:
    if not _MAC.fullmatch(value):
        raise ValueError(f"{value!r} is not a MAC address like 52:54:00:aa:bb:01")
    return value.lower()


_TRUE, _FALSE = ("1", "t", "true", "on", "y", "yes"), ("0", "f", "false", "off", "n", "no")


def _boolean(value: bool | str) -> bool:
    if isinstance(value, bool):
        return value
    if value.strip().lower() not in _TRUE + _FALSE:
        raise ValueError(f"{value!r} is not a boolean; use true or false")
    return value.strip().lower() in _TRUE


_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,30}")


def _integer(value: float | str) -> int:
    if isinstance(value, str) and not _WHOLE_NUMBER.fullmatch(value.strip()):
        raise ValueError(f"{value!r} is not an integer")
    return int(value)


def integer(least: int, most: int) -> Kind:
    """Return the kind of integers within these limits."""

    def within(value: float | str) -> int:
        number = _integer(value)
        if not least <= number <= most:
            raise ValueError(f"{number} is not between {least} and {most}")
        return number

    return Kind(_NUMBER | {"minimum": least, "maximum": most}, within, shown={"type": "integer"})


def _trait(value: str) -> str:
    if not is_trait(value):
        raise ValueError(f"{value!r} is no trait; own ones start with CUSTOM_ and use A-Z, 0-9 and _")
    return value


def _traits(values: list[str]) -> list[str]:
    return sorted({_trait(value) for value in values})


def _words(value: str) -> list[str]:
    """Return the items of a comma separated text, in lower case and once each."""
    return list(dict.fromkeys(word.strip().lower() for word in value.split(",") if word.strip()))


def _lowered(value: str) -> str:
    return value.lower()


_NUMBER: dict[str, Any] = {"type": ["integer", "string"]}

TEXT = string()
WORD = string(shortest=1)
LOWERED = Kind({"type": "string", "maxLength": 255}, _lowered)
UUID_TEXT = Kind(_STRING | {"format": "uuid"}, _uuid)
NAME = Kind(_STRING, _name)
OWN_NAME = own_name()
IDENT = Kind(_STRING, _ident)
MAC = Kind(_STRING, _mac)
BOOLEAN = Kind({"type": ["boolean", "string"]}, _boolean, shown={"type": "boolean"})
INTEGER = integer(-(2**31), 2**31 - 1)
POSITIVE = integer(1, 2**63 - 1)
OBJECT = Kind({"type": "object"})
LIST = Kind({"type": "array"})
TRAIT = Kind(_STRING | {"maxLength": 255}, _trait)
TRAITS = Kind({"type": "array", "items": _STRING | {"maxLength": 255}}, _traits)
WORDS = Kind(_STRING, _words, repeated=True)
TIME = Kind(_STRING | {"format": "date-time"})
ANYTHING = Kind({})

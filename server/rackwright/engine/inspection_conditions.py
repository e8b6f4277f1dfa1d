# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What the operators of conditions of inspection rules compare. Source: ``contract/engine.md`` section 9."""

from __future__ import annotations

import ipaddress
import operator
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import regex

Json = Mapping[str, Any]
_MATCH_TIME = 1.0  # seconds that one regular expression may take; texts of machines can be made to take for ever
_EMPTY = ("", "None", "[]", "{}")
_TRUE = ("true", "yes", "y", "t", "on")
_FALSE = ("false", "no", "n", "f", "off", "none", "")


class CannotCompare(Exception):
    """A condition cannot be judged with the values it got; the text says why."""


def _number(value: object) -> float | None:
    """Return a number, also one that is written as text."""
    try:
        return None if isinstance(value, bool) or not isinstance(value, int | float | str) else float(value)
    except (ValueError, OverflowError):
        return None


def _alike(values: Sequence[Any], force_strings: bool) -> Sequence[Any]:
    """Return values that can be compared: texts when forced, numbers when all of them are numbers, else as they are."""
    if force_strings:
        return [str(each) for each in values]
    numbers = [_number(each) for each in values]
    return values if None in numbers else numbers


def _equal(args: Json) -> bool:
    values = _alike(args["values"], args["force_strings"])
    return all(one == other or str(one) == str(other) for one, other in pairwise(values))


def _ordered(before: Callable[[Any, Any], bool]) -> Callable[[Json], bool]:
    def check(args: Json) -> bool:
        values = _alike(args["values"], args["force_strings"])
        try:
            return all(before(one, other) for one, other in pairwise(values))
        except TypeError as error:
            raise CannotCompare(f"{', '.join(map(repr, values))} have no order: {error}") from error

    return check


def _is_true(args: Json) -> bool:
    number = _number(args["value"])
    return bool(number) if number is not None else str(args["value"]).strip().lower() in _TRUE


def _is_false(args: Json) -> bool:
    number = _number(args["value"])
    return number == 0 if number is not None else str(args["value"]).strip().lower() in _FALSE


def subnet(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """Return the network that a text names; raise CannotCompare."""
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError as error:
        raise CannotCompare(f"subnet: {error}") from error


def _in_net(args: Json) -> bool:
    net = subnet(args["subnet"])
    try:
        return ipaddress.ip_address(args["address"]) in net
    except ValueError:
        return False


def _matching(find: Callable[..., Any]) -> Callable[[Json], bool]:
    def check(args: Json) -> bool:
        try:
            return find(args["regex"], str(args["value"]), timeout=_MATCH_TIME) is not None
        except TimeoutError as error:
            raise CannotCompare(f"regex {args['regex']!r} took more than {_MATCH_TIME:g} s") from error
        except (regex.error, OverflowError) as error:
            raise CannotCompare(f"regex {args['regex']!r} is no regular expression: {error}") from error

    return check


def _one_of(args: Json) -> bool:
    if not isinstance(args["values"], list):
        raise CannotCompare(f"values is no list but {args['values']!r}")
    return any(_equal({"values": [args["value"], each], "force_strings": False}) for each in args["values"])


OPERATORS: Mapping[str, Callable[[Json], bool]] = MappingProxyType(
    {
        "eq": _equal,
        "lt": _ordered(operator.lt),
        "gt": _ordered(operator.gt),
        "is-empty": lambda args: str(args["value"]).strip() in _EMPTY,
        "is-none": lambda args: str(args["value"]).strip() == "None",
        "is-true": _is_true,
        "is-false": _is_false,
        "in-net": _in_net,
        "matches": _matching(regex.fullmatch),
        "contains": _matching(regex.search),
        "one-of": _one_of,
    }
)
"""Each operator: the function that judges its arguments; raises CannotCompare."""

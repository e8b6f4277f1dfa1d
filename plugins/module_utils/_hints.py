# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Choose the root disk of a machine by hints: exactly one disk, or an error that names all disks.

The hints are Ironic's root device hints (contract: ``agent-protocol.md``, "Root device hints"), with the operators of
oslo.utils' specs matcher. Unlike there, a hint that fits two disks is an error and not the first one's bad luck.
"""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

GIB = 1024**3
SMALLEST_ROOT = 4 * GIB
"""A disk below this size, in bytes, is never chosen without a hint."""

_TEXTS = (
    *("model", "wwn", "serial", "vendor", "wwn_with_extension", "wwn_vendor_extension"),
    *("name", "hctl", "by_path", "tran"),
)
KNOWN_HINTS = ("size", "rotational", *_TEXTS)

_NUMBERS = {
    "=": operator.ge,  # oslo keeps this old meaning
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_STRINGS = {"s" + sign: compare for sign, compare in _NUMBERS.items() if sign != "="}
_EXPRESSION = re.compile(r"(<in>|<all-in>|<or>|<range-in>|s?(?:==|!=|>=|<=|>|<)|=)\s*(.*)", re.DOTALL)
_RANGE = re.compile(r"([\[(])\s*(\S+)\s+(\S+?)\s*([\])])")
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


_CHOOSE = "Set root_device in the node's properties, or in its instance_info, to hints that fit exactly one disk."


def find(
    hints: Mapping[str, Any] | None,
    disks: Iterable[Mapping[str, Any]],
    *,
    skip: Iterable[Mapping[str, Any]] = (),
) -> Mapping[str, Any]:
    """Return the one disk that all hints fit.

    ``disks`` are those of the agent's inventory, ``size`` in bytes; hints give it in GiB. Disks that fit one of the
    hint objects in ``skip`` do not count. Without hints it is the smallest disk of at least 4 GiB. Raise OperationError
    when a hint cannot be understood and when no disk, or more than one, is left.
    """
    seen = list(disks)
    skipped = [_matcher(each) for each in skip]
    left = [disk for disk in seen if not any(fits(disk) for fits in skipped)]
    if hints:
        fits = _matcher(hints)
        chosen, wish = [disk for disk in left if fits(disk)], f"the root device hints {dict(hints)}"
    else:
        chosen, wish = _smallest(left), "the rule without hints (the smallest disk of at least 4 GiB)"
    if len(chosen) == 1:
        return chosen[0]
    found = "none of the disks" if not chosen else f"{len(chosen)} disks ({_describe(chosen)})"
    cause = f"{wish} fit {found}; disks seen: {_describe(seen)}"
    raise OperationError("choose the root disk", cause, _CHOOSE)


def _wrong(text: str) -> OperationError:
    return OperationError("read the root device hints", text, _CHOOSE)


def _smallest(disks: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    big = [disk for disk in disks if int(disk.get("size") or 0) >= SMALLEST_ROOT]
    least = min((int(disk["size"]) for disk in big), default=0)
    return [disk for disk in big if int(disk["size"]) == least]


def _describe(disks: Iterable[Mapping[str, Any]]) -> str:
    return "; ".join(_label(disk) for disk in disks) or "none"


def _label(disk: Mapping[str, Any]) -> str:
    facts = [f"{key} {disk[key]}" for key in ("model", "serial", "wwn", "hctl") if disk.get(key)]
    return " ".join([str(disk.get("name")), f"{int(disk.get('size') or 0) / GIB:.1f} GiB", *facts])


def _matcher(hints: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], bool]:
    """Return a function that says whether a disk fits all hints; raise OperationError for hints without meaning."""
    unknown = sorted(set(hints) - set(KNOWN_HINTS))
    if unknown or not hints:
        raise _wrong(f"unknown hint {', '.join(unknown) or '(none)'}; known: {', '.join(KNOWN_HINTS)}")
    tests = {name: _test(name, value) for name, value in hints.items()}

    def fits(disk: Mapping[str, Any]) -> bool:
        return all(disk.get(name) is not None and test(_value(disk, name)) for name, test in tests.items())

    return fits


def _value(disk: Mapping[str, Any], name: str) -> str:
    value = disk[name]
    return str(int(value) // GIB) if name == "size" else str(value).strip().lower()


def _test(name: str, hint: Any) -> Callable[[str], bool]:
    """Return the test of one hint for the lower-case text of a disk's value."""
    text = unquote(str(hint)).strip().lower()
    readable = isinstance(hint, (str, int, float)) and (name == "rotational" or not isinstance(hint, bool))
    if not text or not readable:
        raise _wrong(f"hint {name} has the value {hint!r}, which says nothing about a disk")
    if name == "rotational":
        return _is_boolean(name, text)
    expression = _EXPRESSION.fullmatch(text)
    sign, rest = expression.groups() if expression else ("==" if name == "size" else "s==", text)
    return _apply(name, sign, rest)


def _is_boolean(name: str, text: str) -> Callable[[str], bool]:
    if text not in _BOOLEANS:
        raise _wrong(f"hint {name} must be true or false, not {text!r}")
    return lambda value: _BOOLEANS.get(value) is _BOOLEANS[text]


def _apply(name: str, sign: str, rest: str) -> Callable[[str], bool]:
    if not rest:
        raise _wrong(f"hint {name} has nothing after the operator {sign}")
    if sign in _NUMBERS:
        number, compare = _number(name, rest), _NUMBERS[sign]
        return lambda value: _is_number(value) and bool(compare(float(value), number))
    if sign in _STRINGS:
        compare_text = _STRINGS[sign]
        return lambda value: bool(compare_text(value, rest))
    if sign == "<in>":
        return lambda value: rest in value
    if sign == "<all-in>":
        return lambda value: all(word in value for word in rest.split())
    if sign == "<or>":
        choices = [choice.strip() for choice in rest.split("<or>")]
        return lambda value: value in choices
    return _within(name, rest)


def _within(name: str, rest: str) -> Callable[[str], bool]:
    limits = _RANGE.fullmatch(rest)
    if limits is None:
        raise _wrong(f"hint {name} needs a range like [ 10 20 ] or ( 10 20 ), not {rest!r}")
    low, high = _number(name, limits[2]), _number(name, limits[3])
    above = operator.ge if limits[1] == "[" else operator.gt
    below = operator.le if limits[4] == "]" else operator.lt
    return lambda value: _is_number(value) and bool(above(float(value), low) and below(float(value), high))


def _number(name: str, text: str) -> float:
    if not _is_number(text):
        raise _wrong(f"hint {name} is compared as a number, but {text!r} is none")
    return float(text)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?\d+(\.\d+)?", text) is not None

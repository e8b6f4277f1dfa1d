# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Which disk the root device hints of a node mean.

A hint is a plain value or an operator and its operands; comparing ignores case and all hints must match.
Source: ``contract/agent-protocol.md`` section "Root device hints".
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from rackwright.domain.errors import Invalid

Disk = Mapping[str, Any]
_GIB = 1024**3
_IDENTITIES = ("wwn", "wwn_with_extension", "wwn_vendor_extension", "serial", "name", "hctl", "by_path")
_KEYS = frozenset({*_IDENTITIES, "model", "vendor", "tran", "size", "rotational"})

_NUMBERS: Mapping[str, Callable[[float, float], bool]] = MappingProxyType(
    {
        "==": operator.eq,
        "!=": operator.ne,
        ">=": operator.ge,
        "<=": operator.le,
        ">": operator.gt,
        "<": operator.lt,
        "=": operator.ge,
    }
)
_TEXTS: Mapping[str, Callable[[str, str], bool]] = MappingProxyType(
    {
        "s==": operator.eq,
        "s!=": operator.ne,
        "s>=": operator.ge,
        "s<=": operator.le,
        "s>": operator.gt,
        "s<": operator.lt,
    }
)
_OPERATOR = re.compile(r"(s==|s!=|s>=|s<=|s>|s<|==|!=|>=|<=|>|<|=)\s*(.*)", re.DOTALL)
_RANGE = re.compile(r"<range-in>\s*([\[(])\s*(\S+)\s+(\S+?)\s*([\])])")


class HintInvalid(Invalid):
    """Root device hint {hint}: {reason}."""


def choose(disks: Sequence[Disk], hints: object) -> Disk:
    """Return the one disk that all hints mean.

    Raises HintInvalid when a hint is unknown or malformed, or when no disk or more than one disk matches: writing to
    the wrong disk is worse than not writing.
    """
    if not isinstance(hints, dict):
        raise HintInvalid(hint="root_device", reason="it must be an object")
    if unknown := sorted(set(hints) - _KEYS):
        raise HintInvalid(hint=", ".join(unknown), reason=f"unknown; known hints are {', '.join(sorted(_KEYS))}")
    found = [disk for disk in disks if all(_matches(disk, key, wanted) for key, wanted in hints.items())]
    if len(found) != 1:
        names = ", ".join(str(disk.get("name")) for disk in found or disks) or "none"
        which = f"they match several disks ({names})" if found else f"they match none of the disks ({names})"
        raise HintInvalid(hint=", ".join(f"{key}={value}" for key, value in sorted(hints.items())), reason=which)
    return found[0]


def _matches(disk: Disk, key: str, wanted: object) -> bool:
    value = disk.get(key)
    if value is None:
        return False
    if key == "rotational":
        return bool(value) == (str(wanted).strip().lower() in ("true", "1", "yes", "on"))
    if key == "size":
        return _meets(str(int(value) // _GIB), str(wanted), key, number=True)
    return _meets(str(value).lower(), str(wanted).lower(), key, number=False)


def _meets(value: str, wanted: str, key: str, *, number: bool) -> bool:
    wanted = wanted.strip()
    if wanted.startswith("<in>"):
        return wanted.removeprefix("<in>").strip() in value
    if wanted.startswith("<all-in>"):
        return all(word in value for word in wanted.removeprefix("<all-in>").split())
    if wanted.startswith("<or>"):
        return any(_plain(value, each.strip(), key, number) for each in wanted.split("<or>")[1:])
    if wanted.startswith("<range-in>"):
        return _in_range(value, wanted, key)
    if found := _OPERATOR.fullmatch(wanted):
        return _compare(value, found[1], found[2].strip(), key)
    return _plain(value, wanted, key, number)


def _plain(value: str, wanted: str, key: str, number: bool) -> bool:
    return _number(value, key) == _number(wanted, key) if number else value == wanted


def _compare(value: str, sign: str, wanted: str, key: str) -> bool:
    if sign in _TEXTS:
        return _TEXTS[sign](value, wanted)
    return _NUMBERS[sign](_number(value, key), _number(wanted, key))


def _in_range(value: str, wanted: str, key: str) -> bool:
    found = _RANGE.fullmatch(wanted)
    if not found:
        raise HintInvalid(hint=key, reason="a range is written <range-in> [ low high ]")
    low, high, number = _number(found[2], key), _number(found[3], key), _number(value, key)
    above = number >= low if found[1] == "[" else number > low
    return above and (number <= high if found[4] == "]" else number < high)


def _number(text: str, key: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise HintInvalid(hint=key, reason=f"{text!r} is no number") from None

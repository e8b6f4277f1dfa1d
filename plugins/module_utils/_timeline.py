# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the time of a node's operations went: rows out of their timelines, and a table for people."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

Data = Mapping[str, Any]


def rows(operations: Iterable[Data], moments: Sequence[Data] = ()) -> list[dict[str, Any]]:
    """Return one row for each stretch of time: ``phase``, ``step``, ``activity``, ``at`` and ``seconds``.

    ``moments`` (``at`` in seconds since 1970, ``mark``: what begins then) are finer than the timelines, such as what a
    serial console said: they name and cut the waits, and alone tell what comes after the last operation.
    """
    found: list[dict[str, Any]] = []
    end = 0.0
    for operation in operations:
        end = _seconds(operation["finished_at"]) if operation["finished_at"] else 0.0
        for entry, begin, until in _stretches(operation["timeline"], end):
            is_wait = entry["activity"] == "waits"
            parts = _parts(moments, begin, until) if is_wait else [(entry["activity"], begin)]
            found += _cut(operation["phase"], entry["step"], parts, until)
    last = max((moment["at"] for moment in moments), default=end)
    return found + (_cut("after", None, _parts(moments, end, last), last) if last > end else [])


def table(found: Iterable[Data]) -> list[str]:
    """Return the rows as lines of text: start and length in seconds, phase, step, what the node did."""
    lines: list[str] = []
    first: float | None = None
    for row in found:
        first = row["at"] if first is None else first
        step = row["step"] or ""
        lines.append(
            f"{row['at'] - first:7.1f} s {row['seconds']:7.1f} s  {row['phase']:9} {step:33} {row['activity']}"
        )
    return lines


def _stretches(timeline: Sequence[Data], end: float) -> Iterator[tuple[Data, float, float]]:
    begins = [_seconds(entry["at"]) for entry in timeline]
    for entry, begin, until in zip(timeline, begins, [*begins[1:], end], strict=False):
        if entry["step"] is not None:
            yield entry, begin, max(until, begin)


def _parts(moments: Sequence[Data], begin: float, until: float) -> list[tuple[str, float]]:
    """Return what went on between two times, each with its begin; the first had begun before."""
    before = [moment["mark"] for moment in moments if moment["at"] <= begin]
    inside = [(moment["mark"], moment["at"]) for moment in moments if begin < moment["at"] < until]
    return [(before[-1] if before else "waits", begin), *inside]


def _cut(phase: str, step: str | None, parts: Sequence[tuple[str, float]], until: float) -> list[dict[str, Any]]:
    ends = [*(begin for _what, begin in parts[1:]), until]
    return [
        {"phase": phase, "step": step, "activity": what, "at": begin, "seconds": round(end - begin, 1)}
        for (what, begin), end in zip(parts, ends, strict=True)
    ]


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()

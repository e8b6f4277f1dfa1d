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

    ``moments`` (``at`` in seconds since 1970, ``mark``) are finer than the timelines, such as what a serial console
    said: they cut a wait into parts, and what comes after the last operation is told by them alone.
    """
    found: list[dict[str, Any]] = []
    end = 0.0
    for operation in operations:
        end = _seconds(operation["finished_at"]) if operation["finished_at"] else 0.0
        for entry, begin, until in _stretches(operation["timeline"], end):
            parts = [(entry["activity"], begin)]
            if entry["activity"] == "waits":
                parts += [(moment["mark"], moment["at"]) for moment in moments if begin < moment["at"] < until]
            found += _cut(operation["phase"], entry["step"], parts, until)
    after = [(moment["mark"], moment["at"]) for moment in moments if moment["at"] > end]
    return found + (_cut("after", None, after, after[-1][1]) if after else [])


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


def _cut(phase: str, step: str | None, parts: Sequence[tuple[str, float]], until: float) -> list[dict[str, Any]]:
    ends = [*(begin for _what, begin in parts[1:]), until]
    return [
        {"phase": phase, "step": step, "activity": what, "at": begin, "seconds": round(end - begin, 1)}
        for (what, begin), end in zip(parts, ends, strict=True)
    ]


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()

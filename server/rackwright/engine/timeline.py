# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""When an operation did what: a list of moments, each with the step and what the node did from then on.

An entry holds until the next one begins, the last until the operation's end. A node shows the newest one in
``driver_internal_info.operation`` while the operation is under way.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from rackwright.store.node import Node
from rackwright.store.operation import Operation
from rackwright.telemetry.numbers import STEP_SECONDS

SHOWN = "operation"
"""Key of driver_internal_info."""


class Activity(StrEnum):
    """What a node does with its step."""

    QUEUED = "queued"
    """Ready, and no run has it yet."""
    RUNS = "runs"
    """A playbook run has it."""
    WAITS = "waits"
    """It waits for its agent, a report or a time, and holds nothing."""


def note(operation: Operation, node: Node, activity: Activity, *, at: datetime) -> None:
    """Add what begins now to the timeline, and show it on the node."""
    key = _key(operation)
    last = operation.timeline[-1] if operation.timeline else {}
    run = operation.run_id if activity is Activity.RUNS else None
    if (last.get("step"), last.get("activity")) == (key, activity.value):
        return
    if last.get("step") != key:
        _end_step(operation, at)
    entry = {"at": at.isoformat(), "step": key, "activity": activity.value, "run": run}
    operation.timeline = [*operation.timeline, entry]
    _show(operation, node, entry)


def hold_up(operation: Operation, node: Node, why: str, *, at: datetime) -> None:
    """Note that the run which begins the last entry could not be carried out: the node is queued, and ``why``.

    However often that happens, it remains one entry, with the last reason.
    """
    before = list(operation.timeline)
    begin = at.isoformat()
    if before and before[-1]["activity"] == Activity.RUNS:
        before.pop()
    if before and "why" in before[-1] and before[-1]["step"] == _key(operation):
        begin = before.pop()["at"]
    entry = {"at": begin, "step": _key(operation), "activity": Activity.QUEUED.value, "run": None, "why": why}
    operation.timeline = [*before, entry]
    _show(operation, node, entry)


def _key(operation: Operation) -> str | None:
    """Return the step that the operation is at; None at its end."""
    step = operation.steps[operation.position] if operation.position < len(operation.steps) else None
    return f"{step['interface']}.{step['name']}" if step else None


def _show(operation: Operation, node: Node, entry: Mapping[str, Any]) -> None:
    shown = {
        "phase": operation.phase,
        "step": entry["step"],
        "index": operation.position,
        "count": len(operation.steps),
        "activity": entry["activity"],
        "since": entry["at"],
        "started_at": operation.started_at.isoformat(),
        **({"why": entry["why"]} if "why" in entry else {}),
    }
    node.driver_internal_info = {**node.driver_internal_info, SHOWN: shown}


def close(operation: Operation, node: Node, *, at: datetime) -> None:
    """Show no operation on the node any more; its last step ends at ``at``."""
    _end_step(operation, at)
    node.driver_internal_info = {key: value for key, value in node.driver_internal_info.items() if key != SHOWN}


def _end_step(operation: Operation, at: datetime) -> None:
    """Note how long the node was at the step of the last entry."""
    begin: str | None = None
    key = operation.timeline[-1]["step"] if operation.timeline else None
    for entry in reversed(operation.timeline):
        if entry["step"] != key:
            break
        begin = entry["at"]
    if key is not None and begin is not None:
        spent = (at - datetime.fromisoformat(begin)).total_seconds()
        STEP_SECONDS.note(spent, phase=operation.phase, step=key)


def told(operation: Operation, *, at: datetime) -> dict[str, Any]:
    """Return an operation as stretches of time, newest last: each with its begin, seconds, step, activity and run.

    ``seconds`` sums them up by activity, ``steps`` by step, in order. What is before the first entry is queued.
    """
    end = operation.finished_at or at
    entries: list[Mapping[str, Any]] = [
        {"at": operation.started_at.isoformat(), "step": None, "activity": Activity.QUEUED.value},
        *operation.timeline,
    ]
    begins = [datetime.fromisoformat(entry["at"]) for entry in entries]
    stretches = [
        {**entry, "run": entry.get("run"), "seconds": _between(begin, until)}
        for entry, begin, until in zip(entries, begins, [*begins[1:], end], strict=True)
    ]
    return {
        "seconds": _summed(stretches, "activity"),
        "steps": [{"step": step, "seconds": spent} for step, spent in _summed(stretches, "step").items()],
        "stretches": stretches,
    }


def summary(operation: Operation) -> str:
    """Return in a sentence where the time of an operation that is over went."""
    spent = told(operation, at=operation.finished_at or operation.updated_at)["seconds"]
    return f"Seconds: {', '.join(f'{activity} {seconds:.0f}' for activity, seconds in spent.items())}."


def _between(begin: datetime, end: datetime) -> float:
    return round(max((end - begin).total_seconds(), 0.0), 3)


def _summed(stretches: list[dict[str, Any]], key: str) -> dict[str, float]:
    found: dict[str, float] = {}
    for each in stretches:
        if each[key] is not None:
            found[each[key]] = round(found.get(each[key], 0.0) + each["seconds"], 3)
    return found

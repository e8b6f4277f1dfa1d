# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""When an operation did what: a list of moments, each with the step and what the node did from then on.

An entry holds until the next one begins, the last until the operation's end. A node shows the newest one in
``driver_internal_info.operation`` while the operation is under way.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from rackwright.store.node import Node
from rackwright.store.operation import Operation

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
    step = operation.steps[operation.position] if operation.position < len(operation.steps) else None
    key = f"{step['interface']}.{step['name']}" if step else None
    last = operation.timeline[-1] if operation.timeline else {}
    if (last.get("step"), last.get("activity")) == (key, activity.value):
        return
    entry = {"at": at.isoformat(), "step": key, "activity": activity.value}
    operation.timeline = [*operation.timeline, entry]
    shown = {
        "phase": operation.phase,
        "step": key,
        "index": operation.position,
        "count": len(operation.steps),
        "activity": activity.value,
    }
    node.driver_internal_info = {**node.driver_internal_info, SHOWN: shown}


def close(node: Node) -> None:
    """Show no operation on the node any more."""
    node.driver_internal_info = {key: value for key, value in node.driver_internal_info.items() if key != SHOWN}

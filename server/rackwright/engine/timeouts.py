# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Every wait has an end: the next look of a poll, or the limit of the phase."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime

from sqlmodel import Session

from rackwright.domain.outcomes import Failed, WaitFor
from rackwright.domain.steps import Step
from rackwright.domain.verbs import Phase
from rackwright.engine import operations, timeline, trace
from rackwright.engine.composition import BOOT_AGENT
from rackwright.engine.context import REPEATED_BOOTS
from rackwright.engine.timeline import Activity
from rackwright.engine.world import World
from rackwright.store import operation as rows
from rackwright.store import work
from rackwright.store.node import Node
from rackwright.store.operation import Operation, OperationStatus
from rackwright.store.session import reading

logger = logging.getLogger(__name__)

Due = Callable[[Operation, datetime], bool]
Deal = Callable[[Operation, Node, Session, World], bool]

_AWAITED = {
    WaitFor.AGENT: ("for the agent", "on the machine's console whether it boots the ramdisk and reaches this service"),
    WaitFor.INSPECTION: ("for the inspection report", "the console of the machine and the log of its ramdisk"),
    WaitFor.CHILDREN: ("for the child nodes", "what the child nodes do, and who holds them"),
    WaitFor.POLL: ("for the BMC", "the BMC, its own log and the state of its tasks"),
}
"""What was waited for, and what the operator looks at."""


def wake(world: World) -> bool:
    """Make the operations ready whose next look has come; tell whether there were any."""
    return _each_due(world, lambda operation, at: _past(operation.wake_at, at), _ready)


def expire(world: World) -> bool:
    """Fail the step of every wait that has reached its limit; nodes in maintenance are left alone."""
    return _each_due(world, lambda operation, at: _past(operation.deadline_at, at), _end)


def _past(moment: datetime | None, at: datetime) -> bool:
    return moment is not None and moment <= at


def _each_due(world: World, is_due: Due, deal: Deal) -> bool:
    at, dealt = world.clock(), False
    with reading(world.database) as session:
        due = [operation.uuid for operation in rows.due(at, session=session) if is_due(operation, at)]
    if not due:
        return False
    with world.acting() as session:
        for uuid in due:
            found = work.locked(uuid, session=session, wait=False)
            if found and found[0].status == OperationStatus.WAITING and is_due(found[0], at):
                dealt = deal(*found, session, world) or dealt
        session.commit()
    return dealt


def _ready(operation: Operation, node: Node, session: Session, world: World) -> bool:
    del node, world
    operation.status, operation.wake_at = OperationStatus.READY.value, None
    session.add(operation)
    return True


def _end(operation: Operation, node: Node, session: Session, world: World) -> bool:
    if node.maintenance or node.reservation is not None:
        return False
    step = operations.current(operation)
    with trace.about(operation, node):
        if _boots_again(operation, node, world):
            timeline.note(operation, node, Activity.QUEUED, at=world.clock())
        else:
            node.reservation = world.settings.conductor_host
            operations.end_step(operation, node, _failure(operation, step, world), session=session, world=world)
    session.add_all((operation, node))
    return True


def _boots_again(operation: Operation, node: Node, world: World) -> bool:
    """Let a machine whose agent has never called boot once more, in another way; tell whether it does."""
    boots, boot = operation.facts.get(REPEATED_BOOTS, 0), _boot_in_vain(operation)
    called = node.driver_internal_info.get("agent_url")
    if boot is None or operation.error is not None or called or boots >= world.settings.boot_retries:
        return False
    logger.warning(
        "A machine whose agent has not called is booted again", extra={"node_name": node.name, "boot": boots + 2}
    )
    operation.facts = {**operation.facts, REPEATED_BOOTS: boots + 1}
    operation.position, operation.status, operation.deadline_at = boot, OperationStatus.READY.value, None
    return True


def _boot_in_vain(operation: Operation) -> int | None:
    """Return the position of the boot that is waited at, or that the report of an inspection should follow."""
    names = [each["name"] for each in operation.steps[: operation.position + 1]]
    if operation.waits_for == WaitFor.INSPECTION and BOOT_AGENT in names:
        return names.index(BOOT_AGENT)
    return operation.position if names[-1:] == [BOOT_AGENT] else None


def _failure(operation: Operation, step: Step | None, world: World) -> Failed:
    option = operations.timeout_of(Phase(operation.phase))
    reason, look = _AWAITED[WaitFor(operation.waits_for or WaitFor.AGENT)]
    cause = f"{operation.phase} waited {reason} longer than {option}, {getattr(world.settings, option)} seconds"
    if operation.facts.get(REPEATED_BOOTS):
        cause += ", also after another boot with a boot override that stays: the machine seems to boot something else"
        look = f"whether its BIOS or BMC ignores the boot override, and {look}"
    action = f"Check {look}; then repeat the operation, or set {option} higher."
    return Failed(step.key if step else "", cause, action)

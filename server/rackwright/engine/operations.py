# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What happens to an operation from its claim to its end.

Every function changes rows of the caller's session and leaves the commit to it. The position is the truth about how far
a node is: a step that ran is run again after a death, and looks first.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import JsonValue
from sqlmodel import Session

from rackwright.domain.errors import RackwrightError
from rackwright.domain.outcomes import Failed, WaitFor, Waiting, failure_text
from rackwright.domain.states import Event, ProvisionState
from rackwright.domain.steps import Step, Steps
from rackwright.domain.verbs import PHASES, Phase
from rackwright.engine import composition, plan, timeline, transitions
from rackwright.engine.composition import Request
from rackwright.engine.timeline import Activity
from rackwright.engine.transitions import Place
from rackwright.engine.waves import LAST_ATTEMPT
from rackwright.engine.world import World
from rackwright.store import operation as rows
from rackwright.store.columns import now
from rackwright.store.node import Node
from rackwright.store.operation import Operation, OperationStatus
from rackwright.telemetry.numbers import OPERATION_SECONDS, QUEUE_SECONDS, STEP_FAILURES

logger = logging.getLogger(__name__)

NEXT_LOOK = 5.0
"""Seconds until a poll that named no time of its own."""

_LOOKED_AFTER = (WaitFor.POLL, WaitFor.CHILDREN)
"""What is waited for by looking again and again, until one deadline."""

SLOW = "slow"
"""Fact: the node was slower than its wave at the current step."""

RECEIVED = "inventory_received"
"""Fact of an operation: true once the inspection report is there."""

_BEGUN = "begun"
"""Fact: the position of the last step that the engine itself has begun."""

FALLBACK_TIMEOUT = "deploy_callback_timeout"
"""Setting that limits the waits of phases without a setting of their own."""


def timeout_of(phase: Phase) -> str:
    """Return the setting that limits the waits of a phase."""
    return PHASES[phase].timeout_option or FALLBACK_TIMEOUT


def claim(operation: Operation, node: Node, run_id: str, *, world: World) -> bool:
    """Give the operation to a run; tell whether it was still to be had."""
    if operation.status != OperationStatus.READY:
        return False
    phase, at = Phase(operation.phase), world.clock()
    QUEUE_SECONDS.note((at - operation.updated_at).total_seconds(), phase=phase.value)
    if operation.error is None:
        _resume(node, phase, at)
        transitions.show_step(node, phase, current(operation))
    node.reservation = world.settings.conductor_host
    operation.status, operation.run_id, operation.claimed_at = OperationStatus.RUNNING.value, run_id, at
    operation.waits_for = operation.wake_at = None
    timeline.note(operation, node, Activity.RUNS, at=at)
    return True


def current(operation: Operation) -> Step | None:
    """Return the step at the operation's position; None at the end of the list."""
    steps = operation.steps[operation.position :]
    return Step.model_validate(steps[0]) if steps else None


def reach(operation: Operation, node: Node, index: int, *, world: World) -> None:
    """Note that the step at ``index`` has begun, so that those before it are done."""
    if index > operation.position:
        operation.position, operation.attempts, operation.deadline_at = index, 0, None
        _forget_slowness(operation)
        timeline.note(operation, node, Activity.RUNS, at=world.clock())
    if operation.error is None:
        transitions.show_step(node, Phase(operation.phase), current(operation))


def wait(operation: Operation, node: Node, outcome: Waiting, *, world: World) -> None:
    """Let the node go until something makes it ready; it is ready at once when its agent was faster than we."""
    at = world.clock()
    operation.run_id = None
    if _has_come(operation, node, outcome.reason):
        operation.status = OperationStatus.READY.value
        return
    phase = Phase(operation.phase)
    operation.status, operation.waits_for = OperationStatus.WAITING.value, outcome.reason.value
    operation.wake_at = None
    if outcome.reason in _LOOKED_AFTER:
        operation.wake_at = at + timedelta(seconds=NEXT_LOOK if outcome.seconds is None else outcome.seconds)
    if outcome.reason not in _LOOKED_AFTER or operation.deadline_at is None:
        limit = getattr(world.settings, timeout_of(phase))
        operation.deadline_at = at + timedelta(seconds=limit) if limit else None
    if operation.abort_requested and operation.error is None and plan.abortable(operation):
        operation.status, operation.deadline_at = OperationStatus.READY.value, None
    node.reservation = None
    timeline.note(operation, node, Activity.WAITS, at=at)
    if operation.error is None and PHASES[phase].waiting and node.provision_state == PHASES[phase].running:
        transitions.move(node, Event.WAIT, at=at)


def _has_come(operation: Operation, node: Node, reason: WaitFor) -> bool:
    if reason is WaitFor.INSPECTION:
        return bool(operation.facts.get(RECEIVED))
    return reason is WaitFor.AGENT and heard_since(node, operation.claimed_at)


def wake(session: Session, node: Node, reason: WaitFor, *, facts: dict[str, Any] | None = None) -> None:
    """Make the operation that waits for ``reason`` ready; ``facts`` came with what it waited for."""
    with session.no_autoflush:  # else the node is written twice
        operation = rows.unfinished_of(node.id or 0, session=session)
    if operation is None:
        return
    early = reason is WaitFor.INSPECTION and expects_report(operation)
    if operation.waits_for != reason and not early:
        return
    operation.facts = {**operation.facts, **(facts or {})}
    if operation.status == OperationStatus.WAITING:
        operation.status, operation.wake_at = OperationStatus.READY.value, None
        timeline.note(operation, node, Activity.QUEUED, at=now())
    session.add_all((operation, node))


def expects_report(operation: Operation) -> bool:
    """Tell whether an inspection report is of use: until one has come, also while a run has just booted the agent."""
    return operation.phase == Phase.INSPECT and operation.error is None and not operation.facts.get(RECEIVED)


def heard_since(node: Node, moment: datetime | None) -> bool:
    """Tell whether the agent has sent a heartbeat after ``moment``."""
    text = node.driver_internal_info.get("agent_last_heartbeat")
    if not text or moment is None:
        return False
    seen = datetime.fromisoformat(str(text))
    return (seen if seen.tzinfo else seen.replace(tzinfo=UTC)) > moment


def end_step(operation: Operation, node: Node, outcome: Failed, *, session: Session, world: World) -> None:
    """Deal with a failed step: the failure list takes over; within that list the next step does."""
    text = failure_text(outcome.step, outcome.cause, outcome.action)
    step = current(operation)
    STEP_FAILURES.note(phase=operation.phase, step=step.key if step else "none")
    if operation.error is None:
        transitions.blame(node, Phase(operation.phase), step, text)
        begin_failure(operation, node, text, session=session, world=world)
        return
    if operation.abort_requested:
        transitions.blame_abort(node, Phase(operation.phase), text)
    logger.warning("A step of the failure list failed", extra={"node": node.uuid, "cause": text})
    if outcome.cause not in operation.error:  # a step of the failure list may fail as the first one did
        operation.error = f"{operation.error} Besides: {text}"
    _release(operation)
    operation.position += 1
    settle(operation, node, session=session, world=world)


def begin_failure(operation: Operation, node: Node, text: str, *, session: Session, world: World) -> None:
    """Let the failure list follow; ``text`` is what the node will say at its end."""
    phase, before = Phase(operation.phase), composition.loaded(operation.steps)
    following: Steps = ()
    try:
        following = composition.on_failure(node, phase, before, world.catalog)
    except RackwrightError as error:  # the node's driver is gone: nothing can be done with the machine
        logger.warning("The failure list cannot be made", extra={"node": node.uuid, "cause": str(error)})
    operation.error = text
    operation.steps, operation.position, operation.alone = composition.dumped(following), 0, False
    _release(operation)
    settle(operation, node, session=session, world=world)


def abort(operation: Operation, node: Node, *, session: Session, world: World) -> None:
    """End the operation as its client asked."""
    step, who = current(operation), operation.request.get("aborted_by") or "a client"
    where = f" at step {step.key}" if step else " after its last step"
    text = f"The {operation.phase} operation was aborted by {who}{where}. Start it again when it is wanted."
    begin_failure(operation, node, text, session=session, world=world)


def finish_leg(operation: Operation, node: Node, index: int, *, session: Session, world: World) -> None:
    """Note that the step at ``index`` was the last of its leg and is done."""
    done = Step.model_validate(operation.steps[index])
    reach(operation, node, index + 1, world=world)
    _release(operation)
    if done.discovers and operation.error is None and not _join_agent_steps(operation, node, done, session, world):
        return
    if operation.abort_requested and operation.error is None:
        abort(operation, node, session=session, world=world)
        return
    settle(operation, node, session=session, world=world)


def settle(operation: Operation, node: Node, *, session: Session, world: World) -> None:
    """End an operation that has no step left; what goes on is ready."""
    if operation.position < len(operation.steps):
        return
    at, place = world.clock(), Place.of(node)
    if operation.error is not None:
        transitions.fail(operation, node, at=at, session=session)
        status = OperationStatus.ABORTED if operation.abort_requested else OperationStatus.FAILED
    else:
        status = OperationStatus.DONE
        _resume(node, Phase(operation.phase), at)
        if operation.phase == Phase.UNDEPLOY:
            transitions.wipe_instance(node, session=session)
        else:
            transitions.succeed(operation, node, at=at)
    operation.status, operation.finished_at = status.value, at
    timeline.close(operation, node, at=at)
    spent = (at - operation.started_at).total_seconds()
    OPERATION_SECONDS.note(spent, phase=operation.phase, status=operation.status)
    _tell_parent(operation, session)
    _tell(operation, node, place, session=session, world=world)
    session.add_all((operation, node))
    session.flush()
    if operation.phase == Phase.UNDEPLOY and status is OperationStatus.DONE:
        plan.begin_cleaning(node, session=session, settings=world.settings, catalog=world.catalog, sealer=world.sealer)


def requeue(operation: Operation, node: Node, cause: str, *, session: Session, world: World) -> None:
    """Deal with the death of the run: try again, and give up at the last time."""
    operation.attempts += 1
    operation.status = OperationStatus.READY.value
    if operation.attempts < LAST_ATTEMPT:
        return  # the dead run's id stays, so that its wave can be halved
    step = current(operation)
    failed = Failed(
        step.key if step else "",
        f"the playbook run died {operation.attempts} times, the last time with this node alone: {cause}",
        f"See the log of the conductor{_folder(operation, world)}; correct the cause and repeat the operation.",
    )
    operation.attempts = 0
    end_step(operation, node, failed, session=session, world=world)


def _folder(operation: Operation, world: World) -> str:
    """Return where else the cause of a run's death can be found; nothing where its folder is gone."""
    folder = f"runs/{operation.run_id}"
    return f", and {folder} in the state directory" if (world.settings.state_dir / folder).is_dir() else ""


def give_back(operation: Operation) -> None:
    """Take the operation from a run that was ended on purpose; nothing happened to it."""
    _release(operation)


def hold_up(operation: Operation, node: Node, why: str, *, world: World) -> None:
    """Take the operation from a run that its host could not carry out; it waits until the host can."""
    _release(operation)
    timeline.hold_up(operation, node, why, at=world.clock())


def leave_wave(operation: Operation) -> None:
    """Let a node that is slower than its wave take the step among others like it, then, if it must be, alone."""
    operation.alone = SLOW in operation.facts
    operation.facts = {**operation.facts, SLOW: True}
    _release(operation)


def _forget_slowness(operation: Operation) -> None:
    """Let a node that has done the step at which it was slow go on with the others."""
    if SLOW in operation.facts:
        operation.alone = False
        operation.facts = {name: value for name, value in operation.facts.items() if name != SLOW}


def begin(operation: Operation, node: Node, *, world: World) -> None:
    """Let the node begin, or take up again, a step that needs no run."""
    node.reservation = world.settings.conductor_host
    _resume(node, Phase(operation.phase), world.clock())
    reach(operation, node, operation.position, world=world)


def carry_out(operation: Operation, node: Node, step: Step, *, session: Session, world: World) -> None:
    """Carry out a pause: hold until a client sends unhold, or wait; when it is over, go on."""
    at = world.clock()
    begin(operation, node, world=world)
    if operation.facts.get(_BEGUN) == operation.position:
        finish_leg(operation, node, operation.position, session=session, world=world)
        return
    operation.facts = {**operation.facts, _BEGUN: operation.position}
    if step.name == "hold":
        transitions.move(node, Event.HOLD, at=at)
        operation.status, operation.waits_for, node.reservation = OperationStatus.WAITING.value, None, None
        timeline.note(operation, node, Activity.WAITS, at=at)
        return
    operation.claimed_at = at
    wait(operation, node, _pause(step.args.get("seconds"), world), world=world)


def _pause(seconds: JsonValue, world: World) -> Waiting:
    """Return the wait of a step ``wait``: some seconds, up to the operator's limit, or until a heartbeat."""
    if isinstance(seconds, int | float):
        return Waiting(WaitFor.POLL, min(seconds, world.settings.max_conductor_wait_step_seconds))
    return Waiting(WaitFor.AGENT)


def _resume(node: Node, phase: Phase, at: datetime) -> None:
    if PHASES[phase].waiting and node.provision_state == PHASES[phase].waiting:
        transitions.move(node, Event.RESUME, at=at)


def _release(operation: Operation) -> None:
    operation.status, operation.run_id, operation.attempts = OperationStatus.READY.value, None, 0
    operation.waits_for = operation.wake_at = operation.deadline_at = None


def _join_agent_steps(operation: Operation, node: Node, done: Step, session: Session, world: World) -> bool:
    """Compose the list anew with the agent's steps; tell whether that was possible."""
    try:
        steps = composition.compose(
            node,
            Phase(operation.phase),
            request=Request.model_validate(operation.request),
            catalog=world.catalog,
            settings=world.settings,
            reported=operation.facts.get("agent_steps") or {},
        )
    except RackwrightError as error:
        text = failure_text(done.key, str(error), "Correct the steps that were asked for, or the ramdisk.")
        begin_failure(operation, node, text, session=session, world=world)
        return False
    operation.steps = composition.dumped(steps)
    operation.position = 1 + next(i for i, step in enumerate(steps) if step.key == done.key and step.discovers)
    return True


def _tell_parent(operation: Operation, session: Session) -> None:
    """Let the operation look again that has its child nodes take a step."""
    parent = rows.get(str(operation.request.get("parent")), session=session) if operation.phase == Phase.CHILD else None
    if parent is not None and parent.status == OperationStatus.WAITING and parent.waits_for == WaitFor.CHILDREN:
        parent.status, parent.wake_at = OperationStatus.READY.value, None
        session.add(parent)


def _tell(operation: Operation, node: Node, place: Place, *, session: Session, world: World) -> None:
    """Write how the operation ended into the log and the node's history."""
    phase = Phase(operation.phase)
    about = {"node": node.uuid, "node_name": node.name, "phase": operation.phase, "status": operation.status}
    if operation.error is None:
        logger.info("An operation has ended", extra=about)
    else:
        logger.warning("An operation has failed", extra={**about, "error": operation.error})
    common: dict[str, Any] = {
        "session": session,
        "settings": world.settings,
        "user": operation.user,
        "project": operation.project,
        "at": operation.finished_at,
        "place": place,
    }
    if operation.error is not None:
        transitions.record(node, operation.error, event_type=transitions.EVENT_TYPES[phase], **common)
    flow = plan.flow_name(phase, operation.verb)
    if flow and world.settings.record_step_flows_in_history:
        text = f"Ended as {operation.status} in {ProvisionState(node.provision_state)}. {timeline.summary(operation)}"
        transitions.record(node, text, event_type=f"{flow}_end", severity="INFO", **common)

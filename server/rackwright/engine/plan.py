# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Write down what is to be done with a node: the door of the engine for ``services``.

Every function changes rows of the caller's session and leaves the commit to it, so that the intent is stored whole or
not at all. The conductor finds it there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Required, TypedDict, Unpack

from pydantic import JsonValue
from sqlmodel import Session

from rackwright.catalog import Catalog
from rackwright.domain.errors import InvalidState, NodeLocked, RackwrightError, TooManyOperations
from rackwright.domain.states import Event, PowerTarget, ProvisionState
from rackwright.domain.steps import Stage, StepRequest, Steps
from rackwright.domain.verbs import PHASES, VERBS, Phase, phase_of
from rackwright.engine import automated_cleaning, composition, context, family, fast_track, timeline, trace, transitions
from rackwright.engine.composition import AUTOMATED, Request
from rackwright.engine.rescue_password import hashed
from rackwright.engine.ring import host_of
from rackwright.settings import Settings
from rackwright.store import node as nodes
from rackwright.store import operation as operations
from rackwright.store import work
from rackwright.store.columns import now
from rackwright.store.node import Node
from rackwright.store.operation import Operation, OperationStatus
from rackwright.store.sealing import Sealer

_DEPLOYING: tuple[ProvisionState, ...] = (ProvisionState.DEPLOYING, ProvisionState.DEPLOY_WAIT)
_CLEANING: tuple[ProvisionState, ...] = (ProvisionState.DELETING, ProvisionState.CLEANING, ProvisionState.CLEAN_WAIT)
_FINAL_POWER = {
    PowerTarget.REBOOTING: PowerTarget.ON,
    PowerTarget.SOFT_REBOOTING: PowerTarget.ON,
    PowerTarget.SOFT_OFF: PowerTarget.OFF,
}


class Wish(TypedDict, total=False):
    """What a client wants of a node."""

    phase: Required[Phase]
    verb: Required[str]
    user_steps: Sequence[StepRequest] | None
    templates: Sequence[Sequence[StepRequest]]
    configdrive: JsonValue
    rescue_password: str | None
    disable_ramdisk: bool
    user: str | None
    project: str | None


def start_phase(
    *,
    session: Session,
    settings: Settings,
    catalog: Catalog,
    sealer: Sealer,
    node: Node,
    **wish: Unpack[Wish],
) -> Operation:
    """Start a phase: state, target, reservation, the agent's new token, and the operation with its whole list.

    An operation that waits is replaced where the verb is legal in its state. Cleaning that is switched off is over at
    once; its operation comes back as done. Raises InvalidTransition, InvalidStep, NodeLocked or TooManyOperations.
    """
    phase, verb, request = wish["phase"], wish["verb"], _request(wish)
    _check_limit(node, phase, verb, session=session, settings=settings)
    automated = phase is Phase.CLEAN and verb == AUTOMATED
    steps: Steps = ()
    if not automated or cleans(node, settings):
        if automated:
            request = automated_cleaning.request(node, session=session, settings=settings)
        steps = composition.compose(node, phase, request=request, catalog=catalog, settings=settings)
        family.check(node, steps, session=session, catalog=catalog)
    _take(node, session=session, settings=settings)
    lives = fast_track.lives(node, phase, settings=settings, at=now())
    wanted = ProvisionState.MANAGEABLE if phase is Phase.CLEAN and not automated else None
    transitions.move(node, VERBS[verb].event, at=now(), target=wanted)
    node.last_error = None
    _keep_secrets(node, sealer, settings, wish)
    if phase in (Phase.DEPLOY, Phase.ADOPT):
        transitions.note_image_type(node)
    started = Operation(
        node_id=node.id or 0,
        phase=phase.value,
        verb=verb,
        request=request.model_dump(mode="json", exclude_defaults=True) | trace.kept(),
        steps=composition.dumped(steps),
        **_asker(wish),
    )
    return _begin(started, node, session=session, settings=settings, sealer=sealer, lives=lives)


def _request(wish: Wish) -> Request:
    return Request(
        user_steps=tuple(wish.get("user_steps") or ()),
        templates=tuple(tuple(each) for each in wish.get("templates") or ()),
        disable_ramdisk=wish.get("disable_ramdisk", False),
    )


def start_power(
    *, session: Session, settings: Settings, catalog: Catalog, node: Node, target: str, **more: Any
) -> Operation:
    """Start a power action; ``target`` is a PowerTarget, ``timeout`` (seconds), ``user``, ``project`` may be given.

    Raises NodeLocked, also while an operation waits, or InvalidStep when the node's power interface changes nothing.
    """
    step = composition.single(node, Phase.POWER, composition.SET_POWER, catalog)
    args: dict[str, JsonValue] = {"target": PowerTarget(target).value}
    if more.get("timeout") is not None:
        args["timeout"] = more["timeout"]
    first = family.before_power(node, PowerTarget(target), session=session)
    _take_idle(node, session=session, settings=settings)
    node.target_power_state = _FINAL_POWER.get(PowerTarget(target), PowerTarget(target)).value
    if not ProvisionState(node.provision_state).traits.failure_state:
        node.last_error = None
    transitions.lose_power(node, target)
    steps = (*first, step.model_copy(update={"args": args}))
    return _store(node, Phase.POWER, steps, session=session, more=more)


def start_query(
    *, session: Session, settings: Settings, catalog: Catalog, node: Node, step: str, **more: Any
) -> Operation:
    """Start one ``management`` step, as get_boot_device.

    ``kind`` (its interface), ``args``, ``user`` and ``project`` may be given. Its answer is in ``operation.facts``, its
    failure in ``operation.error``; ``unattended`` means that nobody waits for either, so that the node itself will tell
    the failure. Raises NodeLocked, also while an operation waits, or InvalidStep.
    """
    chosen = composition.single(node, Phase.MANAGEMENT, step, catalog, kind=more.get("kind"))
    _take_idle(node, session=session, settings=settings)
    if more.get("unattended") and not ProvisionState(node.provision_state).traits.failure_state:
        node.last_error = None
    args: Mapping[str, JsonValue] = more.get("args") or {}
    only = (chosen.model_copy(update={"args": dict(args)}),)
    started = _store(node, Phase.MANAGEMENT, only, session=session, more=more)
    started.verb = step if more.get("unattended") else None
    return started


def abort(
    *, session: Session, settings: Settings, node: Node, user: str | None = None, project: str | None = None
) -> None:
    """End what a waiting or held node does; a step that cannot be aborted comes to its own end first.

    Raises InvalidState when nothing is there to abort, NodeLocked while a run has the node.
    """
    state, at = ProvisionState(node.provision_state), now()
    if state is ProvisionState.SERVICE_FAILED:
        transitions.move(node, Event.ABORT, at=at)
        session.add(node)
        return
    operation = operations.unfinished_of(node.id or 0, session=session)
    phase = phase_of(state)
    if operation is None or phase is None or state is PHASES[phase].running:
        raise InvalidState(verb="abort", state=state.value, possible="none")
    if operation.status == OperationStatus.RUNNING or operation.error is not None:
        raise NodeLocked(node=node.uuid, host=node.reservation or settings.conductor_host)
    operation.abort_requested = True
    operation.request = {**operation.request, "aborted_by": user}
    held = state is PHASES[phase].hold
    if held or abortable(operation):
        # The conductor sees the request when it takes the row, and runs the failure list.
        operation.status, operation.wake_at, operation.deadline_at = OperationStatus.READY.value, None, None
    who = f" by {user}" if user else ""
    transitions.record(
        node,
        f"Abort of {phase} requested{who}.",
        session=session,
        settings=settings,
        event_type=transitions.EVENT_TYPES[phase],
        severity="INFO",
        user=user,
        project=project,
    )
    session.add_all((operation, node))


def unhold(*, session: Session, node: Node) -> None:
    """Let a held node go on. Raises InvalidTransition when it is not held."""
    transitions.move(node, Event.UNHOLD, at=now())
    operation = operations.unfinished_of(node.id or 0, session=session)
    if operation is not None:
        operation.status = OperationStatus.READY.value
        session.add(operation)
    session.add(node)


def cancel_operations(*, session: Session, node: Node) -> None:
    """End the operation of a node and leave no trace of it there; lines of its run are ignored from now on."""
    operation = operations.unfinished_of(node.id or 0, session=session)
    if operation is not None:
        operation.status = OperationStatus.ABORTED.value
        operation.finished_at, operation.run_id = now(), None
        transitions.show_step(node, Phase(operation.phase), None)
        timeline.close(operation, node, at=operation.finished_at)
        session.add_all((operation, node))
        session.flush()


def cleans(node: Node, settings: Settings) -> bool:
    """Tell whether the node is cleaned between two uses."""
    wanted = settings.automated_clean if node.automated_clean is None else node.automated_clean
    return wanted and (settings.allow_provisioning_in_maintenance or not node.maintenance)


def begin_cleaning(node: Node, *, session: Session, settings: Settings, catalog: Catalog, sealer: Sealer) -> Operation:
    """Let cleaning follow on undeploying: same reservation, same transaction, never without a target."""
    transitions.move(node, Event.CLEAN, at=now(), target=ProvisionState.AVAILABLE)
    node.reservation = settings.conductor_host
    follower = Operation(node_id=node.id or 0, phase=Phase.CLEAN.value, verb=AUTOMATED)
    if cleans(node, settings):
        try:
            request = automated_cleaning.request(node, session=session, settings=settings)
            steps = composition.compose(node, Phase.CLEAN, request=request, catalog=catalog, settings=settings)
            follower.request = request.model_dump(mode="json", exclude_defaults=True) | trace.kept()
            follower.steps = composition.dumped(steps)
        except RackwrightError as error:
            follower.error = f"Cleaning could not start: {error} Correct it, then manage and provide the node."
    return _begin(follower, node, session=session, settings=settings, sealer=sealer)


def _begin(
    operation: Operation, node: Node, *, session: Session, settings: Settings, sealer: Sealer, lives: bool = False
) -> Operation:
    """Store an operation that changes the provision state; one of cleaning that is switched off is over at once.

    ``lives`` tells that it goes on with the agent that runs already.
    """
    phase, steps = Phase(operation.phase), composition.loaded(operation.steps)
    transitions.show_step(node, phase, None)
    if phase is Phase.CLEAN and operation.verb == AUTOMATED and not cleans(node, settings):
        operation.status, operation.finished_at = OperationStatus.DONE.value, now()
        transitions.succeed(operation, node, at=now())
    elif not lives:
        _await_boot(node, phase, steps, sealer)
    if fast_track.is_on(node, settings) and composition.boots_agent(phase, steps):
        transitions.mark_boot(node, operation.uuid)
    _record_flow(operation, node, steps, session=session, settings=settings)
    session.add_all((node, operation))
    session.flush()
    return operation


def _await_boot(node: Node, phase: Phase, steps: Steps, sealer: Sealer) -> None:
    """Forget the agent, and make the next one's token where the image that it boots from can hold one."""
    if composition.boots_agent(phase, steps) and not context.ready_made(node.driver_info, phase):
        transitions.expect_agent(node, sealer)
    else:
        transitions.forget_agent(node)


def _store(node: Node, phase: Phase, steps: Steps, *, session: Session, more: Mapping[str, Any]) -> Operation:
    operation = Operation(
        node_id=node.id or 0,
        phase=phase.value,
        request=trace.kept(),
        steps=composition.dumped(steps),
        **_asker(more),
    )
    session.add_all((node, operation))
    session.flush()
    return operation


def _asker(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return who asks, and for which project."""
    return {"user": given.get("user"), "project": given.get("project")}


def _check_limit(node: Node, phase: Phase, verb: str, *, session: Session, settings: Settings) -> None:
    if phase is Phase.DEPLOY:
        states, setting = _DEPLOYING, "max_concurrent_deploy"
    elif phase is Phase.UNDEPLOY or (phase is Phase.CLEAN and verb != AUTOMATED):
        states, setting = _CLEANING, "max_concurrent_clean"
    else:
        return
    group = node.conductor_group if settings.max_concurrent_per_conductor_group else None
    if work.count_in(states, group=group, session=session) >= (limit := getattr(settings, setting)):
        whose = "" if group is None else f" in conductor group {group!r}"
        raise TooManyOperations(attempted=f"Verb {verb}", limit=limit, setting=setting, whose=whose)


def _take(node: Node, *, session: Session, settings: Settings) -> None:
    """Reserve the node for the conductor; an operation that waits gives way. Raises NodeLocked."""
    before = operations.unfinished_of(node.id or 0, session=session)
    if before is not None and (node.reservation is not None or phase_of(ProvisionState(node.provision_state)) is None):
        raise NodeLocked(node=node.uuid, host=node.reservation or settings.conductor_host)
    nodes.reserve(node, host_of(node, session=session, settings=settings), session=session)
    cancel_operations(session=session, node=node)


def _take_idle(node: Node, *, session: Session, settings: Settings) -> None:
    """Reserve a node that nothing is done with, not even waited for. Raises NodeLocked."""
    if operations.unfinished_of(node.id or 0, session=session) is not None:
        raise NodeLocked(node=node.uuid, host=node.reservation or settings.conductor_host)
    nodes.reserve(node, host_of(node, session=session, settings=settings), session=session)


def abortable(operation: Operation) -> bool:
    """Tell whether the wait can be cut short: while the machine boots, or in a step that allows it."""
    steps = composition.loaded(operation.steps)
    if operation.position >= len(steps):
        return True
    step = steps[operation.position]
    return step.abortable or step.stage is not Stage.WORK


def _keep_secrets(node: Node, sealer: Sealer, settings: Settings, wish: Wish) -> None:
    """Put the config drive and the hash of the rescue password where the steps find them, sealed."""
    kept: dict[str, JsonValue] = {}
    if (drive := wish.get("configdrive")) is not None:
        kept["configdrive"] = drive
    if (password := wish.get("rescue_password")) is not None:
        kept[transitions.RESCUE_PASSWORD] = hashed(password, settings.rescue_password_hash_algorithm)
    if kept:
        node.instance_info = {**node.instance_info, **sealer.seal(kept)}


def _record_flow(operation: Operation, node: Node, steps: Steps, *, session: Session, settings: Settings) -> None:
    flow = flow_name(Phase(operation.phase), operation.verb)
    if settings.record_step_flows_in_history and flow and operation.status != OperationStatus.DONE:
        listed = ", ".join(step.key for step in steps) or "none"
        transitions.record(
            node,
            f"Steps: {listed}.",
            session=session,
            settings=settings,
            event_type=f"{flow}_start",
            severity="INFO",
            user=operation.user,
            project=operation.project,
            at=now(),
        )


def flow_name(phase: Phase, verb: str | None) -> str | None:
    """Return the name of a list of steps in the history; None where it is not kept."""
    if phase is Phase.CLEAN:
        return "automated_cleaning" if verb == AUTOMATED else "manual_cleaning"
    return {Phase.DEPLOY: "deployment", Phase.SERVICE: "servicing"}.get(phase)

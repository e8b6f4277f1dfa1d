# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Store what a run reports, line by line, and what its end means for each of its nodes.

All lines that wait are one short transaction. A line counts only while its run holds the operation and the step is not
behind the position, so that one that comes twice or too late does no harm.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlmodel import Session

from rackwright.domain.outcomes import Behind, Done, Failed, Learned, Report, Settled, Started, Waiting, parse
from rackwright.domain.states import PowerState, PowerTarget
from rackwright.domain.verbs import Phase
from rackwright.engine import bmc_errors, operations, trace, transitions
from rackwright.engine.live import LiveRun
from rackwright.engine.power_news import PowerNews, telling
from rackwright.engine.steadily import steadily
from rackwright.engine.world import World
from rackwright.runner.base import RunResult, RunStatus
from rackwright.store import hardware, work
from rackwright.store.node import Node
from rackwright.store.operation import Operation, OperationStatus
from rackwright.store.session import UNAVAILABLE, writing

logger = logging.getLogger(__name__)


def _power_state(node: Node, value: Any, phase: Phase) -> None:
    del phase
    if value in (PowerState.ON, PowerState.OFF):
        node.power_state = value
    if value == PowerState.OFF:
        transitions.lose_power(node, PowerTarget.OFF)


def _column(name: str, kind: type) -> Callable[[Node, Any, Phase], None]:
    def store(node: Node, value: Any, phase: Phase) -> None:
        del phase
        if isinstance(value, kind):
            setattr(node, name, value)

    return store


def _vendor(node: Node, value: Any, phase: Phase) -> None:
    del phase
    if isinstance(value, str):
        node.properties = {**node.properties, "vendor": value}


def _internal(key: str) -> Callable[[Node, Any, Phase], None]:
    def store(node: Node, value: Any, phase: Phase) -> None:
        node.driver_internal_info = {**node.driver_internal_info, key.format(phase=phase): value}

    return store


FACTS: Mapping[str, Callable[[Node, Any, Phase], None]] = {
    "power_state": _power_state,
    "boot_mode": _column("boot_mode", str),
    "secure_boot": _column("secure_boot", bool),
    "model": _internal(bmc_errors.MODEL),
    "health": _column("health", str),
    "vendor": _vendor,
    "agent_steps": _internal("agent_cached_{phase}_steps"),
    "hardware_manager_version": _internal("hardware_manager_version"),
    "root_device": _internal("root_device"),
}
"""Facts that the node itself keeps, and how; the others stay with the operation."""


TABLES: Mapping[str, Callable[..., None]] = {
    "bios_settings": hardware.replace_settings,
    "firmware_components": hardware.keep_components,
}
"""Facts that are lists of rows which belong to the node, and who stores them."""


def keep_facts(node: Node, facts: Mapping[str, Any], phase: Phase, *, session: Session) -> None:
    """Let the node keep those of the facts that are its own."""
    for name in facts.keys() & FACTS.keys():
        FACTS[name](node, facts[name], phase)
    for name in facts.keys() & TABLES.keys():
        TABLES[name](node.id, facts[name], session=session)


_AT_THE_END = frozenset({Phase.POWER, Phase.MANAGEMENT})
"""Phases whose facts the node shows when the operation ends: who waits for them then meets no locked node."""


Deal = Callable[[Operation, Node, Session], None]
"""Changes an operation and its node; the commit is the caller's."""


class Progress:
    """Writes the progress of runs to the database."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._ignored = () if world.settings.enable_health_monitoring else ("health",)

    def lines(self, run: LiveRun, said: Sequence[Mapping[str, Any]]) -> None:
        """Store lines of a run, in their order; those that no longer count are dropped.

        Raise Invalid when one of them cannot be read; then none of them is stored.
        """
        told: dict[str, list[Report]] = {}
        for report in map(parse, said):
            uuid = run.operations.get(report.node)
            if uuid is None or run.step(report.step) is None:
                logger.warning("A line of a run names a node or step that is not in it", extra={"run": run.run_id})
            else:
                told.setdefault(uuid, []).append(report)

        def store(operation: Operation, node: Node, session: Session) -> None:
            for report in told[operation.uuid]:
                if _holds(run, operation) and report.step >= operation.position:
                    self._apply(operation, node, report, session)

        self._each(run, list(told), store)

    def ended(self, run: LiveRun, result: RunResult) -> None:
        """Deal with every node that the run still has at its end."""

        def end(operation: Operation, node: Node, session: Session) -> None:
            self._end(run, operation, node, result=result, session=session)

        self._each(run, [uuid for uuid in run.operations.values() if uuid is not None], end)

    def _each(self, run: LiveRun, uuids: Sequence[str], deal: Deal) -> None:
        """Deal with these operations, as far as the run holds them: in one transaction, or else one by one.

        Alone are those that somebody else has locked, and all where one of them cannot be stored.
        """
        left = uuids
        if len(uuids) > 1:
            try:
                left = steadily(lambda: self._together(run, uuids, deal), self._world)
            except UNAVAILABLE:
                raise
            except Exception as error:
                logger.warning(
                    "What a run tells is stored node by node", extra={"run": run.run_id, "cause": str(error)}
                )
        failures = [failure for uuid in left if (failure := self._alone(run, uuid, deal)) is not None]
        if failures:
            raise failures[0]

    def _together(self, run: LiveRun, uuids: Sequence[str], deal: Deal) -> Sequence[str]:
        """Deal with those that can be had without waiting; return the others."""
        with telling(self._world.nova) as news, writing(self._world.database) as session:
            found = work.all_locked(uuids, session=session)
            for operation, node in found.values():
                _deal(run, operation, node, deal=deal, news=news, session=session)
            session.commit()
        return [uuid for uuid in uuids if uuid not in found]

    def _alone(self, run: LiveRun, uuid: str, deal: Deal) -> Exception | None:
        """Deal with one, and return why that could not be stored."""

        def store() -> None:
            with telling(self._world.nova) as news, writing(self._world.database) as session:
                found = work.locked(uuid, session=session)
                if found is not None:
                    _deal(run, *found, deal=deal, news=news, session=session)
                    session.commit()

        try:
            steadily(store, self._world)
        except Exception as error:  # the others are stored first
            return error
        return None

    def _apply(self, operation: Operation, node: Node, report: Report, session: Session) -> None:
        operations.reach(operation, node, report.step, world=self._world)
        match report.outcome:
            case Started() | Settled():
                pass
            case Learned(facts) | Done(facts):
                facts = {name: facts[name] for name in facts if name not in self._ignored}
                operation.facts = {**operation.facts, **facts}
                if operation.phase not in _AT_THE_END:
                    keep_facts(node, facts, Phase(operation.phase), session=session)
            case Waiting() as waiting:
                operations.wait(operation, node, waiting, world=self._world)
            case Failed() as failure:
                step = operations.current(operation)
                failed = replace(failure, step=step.key if step else "")
                bmc_errors.count(node, failure.kind)
                if failure.refused:
                    operation.facts = {**operation.facts, "refused": True}
                operations.end_step(operation, node, failed, session=session, world=self._world)
            case Behind():
                operations.leave_wave(operation)
        _store(operation, node, session)

    def _end(self, run: LiveRun, operation: Operation, node: Node, *, result: RunResult, session: Session) -> None:
        last = run.position + len(run.steps) - 1
        match result.status:
            case RunStatus.CANCELLED:
                operations.give_back(operation)
            case RunStatus.HINDERED:
                operations.hold_up(operation, node, result.cause, world=self._world)
            case RunStatus.FINISHED if node.uuid in result.failed:
                step = operations.current(operation)
                failed = Failed(step.key if step else "", result.failed[node.uuid])
                operations.end_step(operation, node, failed, session=session, world=self._world)
            case RunStatus.FINISHED:
                operations.finish_leg(operation, node, last, session=session, world=self._world)
            case RunStatus.DIED:
                logger.error("A run died", extra={"run": run.run_id, "node": node.uuid, "cause": result.cause})
                operations.requeue(operation, node, result.cause, session=session, world=self._world)
        _store(operation, node, session)


def _store(operation: Operation, node: Node, session: Session) -> None:
    if operation.finished_at is not None and operation.phase in _AT_THE_END:
        keep_facts(node, operation.facts, Phase(operation.phase), session=session)
    session.add_all((operation, node))


def _deal(run: LiveRun, operation: Operation, node: Node, *, deal: Deal, news: PowerNews, session: Session) -> None:
    """Deal with an operation while the run holds it; not when it is over or in other hands."""
    if not _holds(run, operation):
        return
    with trace.about(operation, node, run=run.run_id), news.watching(node):
        deal(operation, node, session)
    if operation.phase == Phase.POWER and operation.status == OperationStatus.DONE:
        news.note(node)  # a reboot ends in the state that it began in


def _holds(run: LiveRun, operation: Operation) -> bool:
    return operation.run_id == run.run_id and operation.status == OperationStatus.RUNNING

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Store what a run reports, line by line, and what its end means for each of its nodes.

Each line is one short transaction. It counts only while its run holds the operation and the step is not behind the
position, so that a line that comes twice or too late does no harm.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from sqlmodel import Session

from rackwright.domain.outcomes import Behind, Done, Failed, Learned, Report, Settled, Started, Waiting, parse
from rackwright.domain.states import PowerState, PowerTarget
from rackwright.domain.verbs import Phase
from rackwright.engine import bmc_errors, operations, trace, transitions
from rackwright.engine.live import LiveRun
from rackwright.engine.steadily import steadily
from rackwright.engine.world import World
from rackwright.runner.base import RunResult, RunStatus
from rackwright.store import hardware, work
from rackwright.store.node import Node
from rackwright.store.operation import Operation, OperationStatus
from rackwright.store.session import writing

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


class Progress:
    """Writes the progress of runs to the database."""

    def __init__(self, world: World) -> None:
        self._world = world

    def line(self, run: LiveRun, data: Mapping[str, Any]) -> None:
        """Store one line of a run; one that no longer counts is dropped. Raises Invalid when it cannot be read."""
        report = parse(data)
        uuid = run.operations.get(report.node)
        if uuid is None or run.step(report.step) is None:
            logger.warning("A line of a run names a node or step that is not in it", extra={"run": run.run_id})
            return
        steadily(lambda: self._store_line(uuid, run, report), self._world)

    def _store_line(self, uuid: str, run: LiveRun, report: Report) -> None:
        with writing(self._world.database) as session:
            found = _held(uuid, run, session)
            if found is None or report.step < found[0].position:
                return
            with trace.about(*found, run=run.run_id):
                self._apply(*found, report, session)
                session.commit()

    def ended(self, run: LiveRun, result: RunResult) -> None:
        """Deal with every node that the run still has at its end."""
        for uuid in run.operations.values():
            if uuid is not None:
                steadily(partial(self._store_end, uuid, run, result), self._world)

    def _store_end(self, uuid: str, run: LiveRun, result: RunResult) -> None:
        with writing(self._world.database) as session:
            found = _held(uuid, run, session)
            if found is not None:
                with trace.about(*found, run=run.run_id):
                    self._end(run, *found, result=result, session=session)
                    session.commit()

    def _apply(self, operation: Operation, node: Node, report: Report, session: Session) -> None:
        operations.reach(operation, node, report.step, world=self._world)
        match report.outcome:
            case Started() | Settled():
                pass
            case Learned(facts) | Done(facts):
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


def _held(uuid: str, run: LiveRun, session: Session) -> tuple[Operation, Node] | None:
    """Return an operation with its node while the run holds it; None when it is gone, over or in other hands."""
    found = work.locked(uuid, session=session)
    if found is None or found[0].run_id != run.run_id or found[0].status != OperationStatus.RUNNING:
        return None
    return found

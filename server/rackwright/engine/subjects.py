# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Answer the door: which nodes are still in a run, and what a step must know of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlmodel import Session

from rackwright.domain.errors import Invalid, RackwrightError
from rackwright.domain.steps import Step
from rackwright.domain.verbs import Interface
from rackwright.engine import composition, context, operations
from rackwright.engine.context import Subject
from rackwright.engine.live import LiveRun, LiveRuns
from rackwright.engine.world import World
from rackwright.store import node as nodes
from rackwright.store import operation as rows
from rackwright.store import port as ports
from rackwright.store import work
from rackwright.store.node import SEALED_FIELDS, Node
from rackwright.store.operation import Operation, OperationStatus
from rackwright.store.port import Port
from rackwright.store.session import reading, writing

EVENTS_PATIENCE = 10.0
"""Seconds that an answer waits until all lines before the mark are stored."""


class UnknownRun(Invalid):
    """No run {run} is going on here; its conductor was restarted. Nothing needs to be done: it is tried again."""


class Subjects:
    """Tells runs about their nodes."""

    def __init__(self, world: World, runs: LiveRuns) -> None:
        self._world = world
        self._runs = runs

    def answer(self, run_id: str, index: int | None, mark: str | None) -> dict[str, Any]:
        """Return the contexts of the nodes that are still in the run; without ``index`` only the masked nodes.

        Raises UnknownRun, or Invalid when the run has no such step.
        """
        run = self._runs.get(run_id)
        if run is None:
            raise UnknownRun(run=run_id)
        if run.contexts is not None:
            return run.hosts() if index is None else dict(run.contexts)
        if index is None:
            return self._inventory(run)
        if run.step(index) is None:
            raise Invalid(f"Run {run_id} has no step {index}.")
        if mark is not None:
            run.wait_for(mark, EVENTS_PATIENCE)
        self._abort_between_steps(run, index)
        return self._contexts(run, index)

    def _inventory(self, run: LiveRun) -> dict[str, Any]:
        """Return the hosts of a run: one that stands for all, where one task serves the whole wave."""
        with reading(self._world.database) as session:
            members = self._members(run, session)
            taken = dict(members[:1] if run.steps[0].batched else members)
            present = nodes.find(session=session, uuids=list(taken))
        return {node.uuid: self._host(node, taken[node.uuid]) for node in present}

    def _host(self, node: Node, operation: Operation | None) -> dict[str, Any]:
        variables = self._world.sealer.unseal(_variables(operation))
        return {"node": self._shown(node, masked=True), "variables": variables}

    def _contexts(self, run: LiveRun, index: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        with reading(self._world.database) as session:
            members = dict(self._members(run, session))
            present = nodes.find(session=session, uuids=list(members))
            cards = ports.of_nodes([node.id or 0 for node in present], session=session)
            for node in present:
                operation = members[node.uuid]
                step = Step.model_validate(operation.steps[index]) if operation else run.step(index)
                if step is None:
                    continue
                opened = step.model_copy(update={"args": self._world.sealer.unseal(step.args)})
                subject = self._subject(node, cards[node.id or 0], run, operation)
                found[node.uuid] = context.compose(subject, opened, index, settings=self._world.settings)
        return found

    def _members(self, run: LiveRun, session: Session) -> list[tuple[str, Operation | None]]:
        """Return the nodes that the run still has: without those that were deleted, aborted or let go."""
        if all(uuid is None for uuid in run.operations.values()):
            present = nodes.find(session=session, uuids=list(run.operations))
            return [(node.uuid, None) for node in present]
        held = {each.uuid: each for each in rows.of_run(run.run_id, session=session)}
        return [
            (uuid, held[known])
            for uuid, known in run.operations.items()
            if known in held and held[known].status == OperationStatus.RUNNING
        ]

    def _abort_between_steps(self, run: LiveRun, index: int) -> None:
        """End the operations whose client asked for it while a step ran that cannot be cut short."""
        with reading(self._world.database) as session:
            ended = rows.to_abort(run.run_id, index, session=session)
        for uuid in ended:
            with writing(self._world.database) as session:
                found = work.locked(uuid, session=session)
                if found and found[0].run_id == run.run_id and found[0].status == OperationStatus.RUNNING:
                    operations.reach(*found, index, world=self._world)
                    operations.abort(*found, session=session, world=self._world)
                    session.add_all(found)
                    session.commit()

    def _subject(self, node: Node, cards: Sequence[Port], run: LiveRun, operation: Operation | None) -> Subject:
        return Subject(
            node=self._shown(node, masked=False),
            ports=[_public(each) for each in cards],
            protocol=self._protocol(node),
            operation=operation.uuid if operation else run.run_id,
            phase=run.phase,
            facts=operation.facts if operation else {},
        )

    def _shown(self, node: Node, *, masked: bool) -> dict[str, Any]:
        change = self._world.sealer.mask if masked else self._world.sealer.unseal
        shown = _public(node)
        return shown | {name: change(shown[name]) for name in SEALED_FIELDS}

    def _protocol(self, node: Node) -> str | None:
        try:
            name = composition.interfaces(node, self._world.catalog)[Interface.POWER]
            return self._world.catalog.implementation(Interface.POWER, name).protocol
        except RackwrightError:
            return None


def _public(row: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = row.model_dump(mode="json", exclude={"id", "node_id"})
    return dumped


def _variables(operation: Operation | None) -> dict[str, Any]:
    """Return the role variables of a step with ordinary tasks, out of its public arguments."""
    step = operations.current(operation) if operation else None
    if step is None or step.batched:
        return {}
    return {step.variables[name]: value for name, value in step.args.items() if name in step.variables}

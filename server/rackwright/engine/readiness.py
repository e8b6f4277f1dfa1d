# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Finds what can go into a run; what needs none (the end, an abort, a step of ours) is done at once.

What is known of an operation holds as long as its row is unchanged, so that those that wait for a run are read once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlmodel import Session

from rackwright.domain.steps import leg
from rackwright.domain.verbs import PHASES, Phase
from rackwright.engine import children, composition, operations, plan, trace
from rackwright.engine.waves import Ready
from rackwright.engine.world import World
from rackwright.store import operation as rows
from rackwright.store import work
from rackwright.store.node import Node
from rackwright.store.operation import Operation, OperationStatus
from rackwright.store.session import reading


class Readiness:
    """Looks for one conductor."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._known: dict[str, Ready] = {}
        """By operation; ``since`` is the time of its row's last change."""

    def look(self) -> Sequence[Ready]:
        """Return what can go into a run, oldest operation first."""
        changes = self._changes()
        known = {uuid: self._known[uuid] for uuid, at in changes.items() if self._is_known(uuid, at)}
        self._known = known | self._fresh([uuid for uuid in changes if uuid not in known])
        return [self._known[uuid] for uuid in changes if uuid in self._known]

    def _is_known(self, uuid: str, at: datetime) -> bool:
        return uuid in self._known and self._known[uuid].since == at

    def _changes(self) -> Mapping[str, datetime]:
        """Return the ready operations of our nodes, each with the time of its last change."""
        with reading(self._world.database) as session:
            found = work.ready(owners=self._world.membership.shares, session=session)
        return {uuid: at for uuid, at, *owner in found if not owner or self._world.membership.is_mine(*owner)}

    def _fresh(self, uuids: Sequence[str]) -> dict[str, Ready]:
        if not uuids:
            return {}
        with reading(self._world.database) as session:
            operations_read = rows.of_uuids(uuids, session=session)
        found: dict[str, Ready] = {}
        for operation in operations_read:
            one = as_ready(operation)
            if one is None or operation.abort_requested:
                one = self._deal_with(operation.uuid)
            if one is not None:
                found[operation.uuid] = one
        return found

    def _deal_with(self, uuid: str) -> Ready | None:
        """Carry out what needs no run; return the operation when it goes on with a run after that."""
        with self._world.acting() as session:
            found = work.locked(uuid, session=session, wait=False)
            if found is None or found[0].status != OperationStatus.READY:
                return None
            operation, node = found
            with trace.about(operation, node):
                self._without_run(operation, node, session)
            session.add_all((operation, node))
            session.commit()
            return as_ready(operation) if operation.status == OperationStatus.READY else None

    def _without_run(self, operation: Operation, node: Node, session: Session) -> None:
        held = node.provision_state == PHASES[Phase(operation.phase)].hold
        step = operations.current(operation)
        if operation.abort_requested and operation.error is None and (held or plan.abortable(operation)):
            node.reservation = self._world.settings.conductor_host
            operations.abort(operation, node, session=session, world=self._world)
        elif step is None:
            operations.settle(operation, node, session=session, world=self._world)
        elif step.execute_on_child_nodes or step.execute_on_parent:
            children.carry_out(operation, node, step, session=session, world=self._world)
        elif not step.role:
            operations.carry_out(operation, node, step, session=session, world=self._world)


def as_ready(operation: Operation) -> Ready | None:
    """Return what a run needs to know; None when the next thing needs no run."""
    steps = composition.loaded(operation.steps[operation.position :])
    if not steps or not steps[0].role:
        return None
    return Ready(
        operation=operation.uuid,
        phase=Phase(operation.phase),
        leg=leg(steps, 0),
        position=operation.position,
        since=operation.updated_at,
        alone=operation.alone,
        slow=operations.SLOW in operation.facts,
        begun=operation.claimed_at is not None,
        attempts=operation.attempts,
        before=operation.run_id,
        asker=operation.project or operation.user or "",
    )

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The queries by which the engine finds its work."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Engine, bindparam, func, or_
from sqlalchemy import select as select_columns
from sqlmodel import Session, col, select

from rackwright.store.allocation import Allocation, AllocationState
from rackwright.store.columns import UtcDateTime, now
from rackwright.store.conductor import Conductor
from rackwright.store.driver_call import DriverCall
from rackwright.store.node import Node
from rackwright.store.operation import Operation, OperationStatus
from rackwright.store.session import locks_rows


class Changes:
    """Tells cheaply whether there may be work that was not there the last time."""

    def __init__(self, engine: Engine) -> None:
        """Keep one connection of its own on SQLite, which counts the commits of the others for it."""
        self._engine = engine
        self._connection = engine.raw_connection() if engine.dialect.name == "sqlite" else None
        self._version: int | None = None

    def happened(self) -> bool:
        """Return whether something has changed; where nobody counts changes, whether something can be done."""
        if self._connection is None:
            with self._engine.connect() as connection:
                return bool(connection.execute(_ANY_WORK, {"at": now()}).scalar())
        cursor = self._connection.cursor()
        (version,) = cursor.execute("PRAGMA data_version").fetchone()
        cursor.close()
        before, self._version = self._version, version
        return bool(before != version)

    def close(self) -> None:
        """Give the connection back."""
        if self._connection is not None:
            self._connection.close()


_READY = select(Operation.id).where(col(Operation.status) == OperationStatus.READY)
_DUE = select(Operation.id).where(
    col(Operation.status) == OperationStatus.WAITING, col(Operation.wake_at) <= bindparam("at", type_=UtcDateTime())
)
_WISHED = select(Allocation.id).where(col(Allocation.state) == AllocationState.ALLOCATING)
_CALLED = select(DriverCall.id).where(col(DriverCall.status) == OperationStatus.READY)
_ANY_WORK = select(or_(_READY.exists(), _DUE.exists(), _WISHED.exists(), _CALLED.exists()))
_FIRST_WAKE = select(func.min(Operation.wake_at)).where(col(Operation.status) == OperationStatus.WAITING)
_TO_DO = select_columns(_READY.exists(), _WISHED.exists(), _CALLED.exists(), _FIRST_WAKE.scalar_subquery())


@dataclass(frozen=True, slots=True)
class ToDo:
    """Which kinds of work there are."""

    ready: bool
    """Operations."""
    wished: bool
    """Allocations."""
    called: bool
    """Methods of drivers."""
    wake_at: datetime | None
    """The next look that a waiting operation has asked for."""


def to_do(*, session: Session) -> ToDo:
    """Return which kinds of work there are, in one query."""
    ready, wished, called, wake_at = session.connection().execute(_TO_DO).one()
    return ToDo(bool(ready), bool(wished), bool(called), wake_at)


def locked(uuid: str, *, session: Session, wait: bool = True) -> tuple[Operation, Node] | None:
    """Return an operation with its node, kept from other writers until the transaction ends; None when it is gone.

    Without ``wait`` also None while somebody else has locked the node.
    """
    return _locked([uuid], session, wait=wait).get(uuid)


def all_locked(uuids: Collection[str], *, session: Session) -> Mapping[str, tuple[Operation, Node]]:
    """Return operations by UUID with their nodes, kept from other writers until the transaction ends.

    Without those that are gone, or whose node somebody else has locked: who locks many waits for nobody.
    """
    return _locked(uuids, session, wait=False)


def _locked(uuids: Collection[str], session: Session, *, wait: bool) -> dict[str, tuple[Operation, Node]]:
    known: ColumnElement[bool] = col(Operation.uuid).in_(uuids)
    if locks_rows(session):
        owners = select(Operation.node_id).where(known)
        first = select(Node.id).where(col(Node.id).in_(owners)).with_for_update(skip_locked=not wait)
        known &= col(Operation.node_id).in_(session.exec(first).all())
    both = select(Operation, Node).join(Node, col(Operation.node_id) == col(Node.id)).where(known)
    found = session.exec(both.with_for_update().execution_options(populate_existing=True)).all()
    return {operation.uuid: (operation, node) for operation, node in found}


def unfinished_uuids(*, session: Session) -> set[str]:
    """Return the UUIDs of the operations that are not over."""
    return set(session.exec(select(Operation.uuid).where(col(Operation.finished_at).is_(None))).all())


def told_by_nodes(key: str, *, session: Session) -> set[str]:
    """Return what nodes have under a key of driver_internal_info."""
    value = col(Node.driver_internal_info)[key].as_string()
    return {str(found) for found in session.exec(select(value).where(value.is_not(None))).all()}


def count_in(states: Collection[str], *, group: str | None = None, session: Session) -> int:
    """Return how many nodes, of one conductor group or of all, are in any of these provision states."""
    counted = select(func.count()).select_from(Node).where(col(Node.provision_state).in_(states))
    if group is not None:
        counted = counted.where(col(Node.conductor_group) == group)
    return session.exec(counted).one()


def whereabouts(*, having: str | None = None, session: Session) -> Sequence[tuple[str, str, Node]]:
    """Return UUID, status and node of the operations that run or are ready; only of nodes ``having`` this property."""
    wanted = select(Operation.uuid, Operation.status, Node).join(Node, col(Operation.node_id) == col(Node.id))
    wanted = wanted.where(col(Operation.status).in_((OperationStatus.READY, OperationStatus.RUNNING)))
    if having is not None:
        wanted = wanted.where(col(Node.properties)[having].as_string().is_not(None))
    return session.exec(wanted).all()


def deserted(busy: Collection[str], host: str, *, session: Session) -> Sequence[Node]:
    """Return nodes that are reserved by ``host``, or in a ``busy`` state, and have no operation under way."""
    worked_on = select(Operation.node_id).where(col(Operation.finished_at).is_(None))
    taken = (col(Node.reservation) == host) | col(Node.provision_state).in_(busy)
    return session.exec(select(Node).where(taken, col(Node.id).not_in(worked_on)).order_by(col(Node.id))).all()


def running(host: str | None, *, session: Session) -> Sequence[tuple[str, str | None]]:
    """Return the UUIDs of the running operations, those of the conductor ``host`` or all, each with its run."""
    wanted = select(Operation.uuid, Operation.run_id).where(col(Operation.status) == OperationStatus.RUNNING)
    if host is not None:
        wanted = wanted.join(Node, col(Operation.node_id) == col(Node.id)).where(col(Node.reservation) == host)
    return session.exec(wanted.order_by(col(Operation.id))).all()


def abandoned(*, session: Session) -> Sequence[str]:
    """Return the UUIDs of the running operations whose conductor is not at work."""
    running = select(Operation.uuid).join(Node, col(Operation.node_id) == col(Node.id))
    held = col(Operation.status) == OperationStatus.RUNNING
    return session.exec(running.where(held, _held_by_nobody()).order_by(col(Operation.id))).all()


def forsaken(*, session: Session) -> Sequence[Node]:
    """Return the nodes that a conductor has reserved which is not at work, and that have no operation under way."""
    worked_on = select(Operation.node_id).where(col(Operation.finished_at).is_(None))
    wanted = select(Node).where(col(Node.reservation).is_not(None), _held_by_nobody(), col(Node.id).not_in(worked_on))
    return session.exec(wanted.order_by(col(Node.id))).all()


def _held_by_nobody() -> ColumnElement[bool]:
    at_work = select(Conductor.id).where(col(Conductor.hostname) == col(Node.reservation), col(Conductor.online))
    return ~at_work.exists()


def ready(*, owners: bool, session: Session) -> Sequence[tuple[Any, ...]]:
    """Return UUID and time of the last change of the ready operations, oldest first.

    With ``owners`` also UUID, hardware type and conductor group of each one's node.
    """
    owner = (col(Node.uuid), col(Node.driver), col(Node.conductor_group)) if owners else ()
    wanted = select_columns(col(Operation.uuid), col(Operation.updated_at), *owner)
    wanted = wanted.join(Node) if owners else wanted
    ready = wanted.where(col(Operation.status) == OperationStatus.READY, col(Operation.finished_at).is_(None))
    return [tuple(row) for row in session.connection().execute(ready.order_by(col(Operation.id)))]

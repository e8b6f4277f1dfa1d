# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The queries by which the engine finds its work."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Engine, func
from sqlmodel import Session, col, select

from rackwright.store.node import Node
from rackwright.store.operation import Operation, OperationStatus


class Changes:
    """Tells cheaply whether anybody has written to the database since the last time; always yes where nobody knows."""

    def __init__(self, engine: Engine) -> None:
        """Keep one connection of its own: SQLite counts the commits of the others for it."""
        self._connection = engine.raw_connection() if engine.dialect.name == "sqlite" else None
        self._version: int | None = None

    def happened(self) -> bool:
        """Return whether something may have changed."""
        if self._connection is None:
            return True
        cursor = self._connection.cursor()
        (version,) = cursor.execute("PRAGMA data_version").fetchone()
        cursor.close()
        before, self._version = self._version, version
        return bool(before != version)

    def close(self) -> None:
        """Give the connection back."""
        if self._connection is not None:
            self._connection.close()


def locked(uuid: str, *, session: Session) -> tuple[Operation, Node] | None:
    """Return an operation with its node, kept from other writers until the transaction ends; None when it is gone."""
    both = select(Operation, Node).join(Node, col(Operation.node_id) == col(Node.id))
    found = session.exec(both.where(col(Operation.uuid) == uuid).with_for_update()).first()
    return None if found is None else (found[0], found[1])


def next_wake(*, session: Session) -> datetime | None:
    """Return the time of the next look that a waiting operation has asked for."""
    first = select(func.min(Operation.wake_at)).where(col(Operation.status) == OperationStatus.WAITING)
    return session.exec(first).one()


def unfinished_uuids(*, session: Session) -> set[str]:
    """Return the UUIDs of the operations that are not over."""
    return set(session.exec(select(Operation.uuid).where(col(Operation.finished_at).is_(None))).all())


def count_in(states: Collection[str], *, session: Session) -> int:
    """Return how many nodes are in any of these provision states."""
    counted = select(func.count()).select_from(Node).where(col(Node.provision_state).in_(states))
    return session.exec(counted).one()


def deserted(busy: Collection[str], host: str, *, session: Session) -> Sequence[Node]:
    """Return nodes that are reserved by ``host``, or in a ``busy`` state, and have no operation under way."""
    worked_on = select(Operation.node_id).where(col(Operation.finished_at).is_(None))
    taken = (col(Node.reservation) == host) | col(Node.provision_state).in_(busy)
    return session.exec(select(Node).where(taken, col(Node.id).not_in(worked_on)).order_by(col(Node.id))).all()


def power_unwatched(fault: str, *, session: Session) -> Sequence[Node]:
    """Return idle nodes that are in maintenance because of ``fault``."""
    wanted = select(Node).where(col(Node.maintenance), col(Node.fault) == fault, *_idle())
    return session.exec(wanted.order_by(col(Node.id))).all()


def power_watched(states: Collection[str], *, session: Session) -> Sequence[Node]:
    """Return idle nodes in any of these states, without those in maintenance."""
    wanted = select(Node).where(~col(Node.maintenance), col(Node.provision_state).in_(states), *_idle())
    return session.exec(wanted.order_by(col(Node.id))).all()


def _idle() -> tuple[ColumnElement[bool], ...]:
    return (col(Node.reservation).is_(None), col(Node.target_power_state).is_(None))

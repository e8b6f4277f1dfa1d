# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The operation table: what is to be done with a node, how far it is and what it waits for.

The columns are explained in docs/explanation/architecture.md, "The operation row".
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import Column, Computed, Integer, UniqueConstraint
from sqlmodel import Field, Session, SQLModel, col, select

from rackwright.store.columns import (
    UtcDateTime,
    created,
    identity,
    json_list,
    json_object,
    key,
    now,
    owner_node,
    text,
    time,
)


class OperationStatus(StrEnum):
    """How far an operation is."""

    READY = "ready"
    RUNNING = "running"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    ABORTED = "aborted"


class WaitsFor(StrEnum):
    """What makes a waiting operation ready again."""

    AGENT = "agent"
    INSPECTION = "inspection"
    POLL = "poll"
    CHILDREN = "children"


UNFINISHED = (OperationStatus.READY, OperationStatus.RUNNING, OperationStatus.WAITING)
"""The statuses of an operation that is not over; its ``finished_at`` is null just then."""


class Operation(SQLModel, table=True):
    """One phase of one node, from the request to its end."""

    __table_args__ = (UniqueConstraint("node_id", "unfinished", name="one_unfinished_operation"),)

    id: int | None = key()
    uuid: str = identity()
    node_id: int = owner_node()
    phase: str
    verb: str | None = None
    request: dict[str, Any] = json_object()
    steps: list[dict[str, Any]] = json_list()
    position: int = 0
    status: str = Field(default=OperationStatus.READY.value, index=True)
    waits_for: str | None = None
    wake_at: datetime | None = time()
    deadline_at: datetime | None = time()
    run_id: str | None = Field(default=None, index=True)
    claimed_at: datetime | None = time()
    alone: bool = False
    attempts: int = 0
    error: str | None = text()
    facts: dict[str, Any] = json_object()
    timeline: list[dict[str, Any]] = json_list()
    abort_requested: bool = False
    user: str | None = None
    project: str | None = None
    started_at: datetime = created()
    updated_at: datetime = Field(
        default_factory=now, sa_type=UtcDateTime, nullable=False, sa_column_kwargs={"onupdate": now}
    )
    finished_at: datetime | None = time()
    # 1 until the end, then null: with it a node has one unfinished operation at most, in every database.
    unfinished: int | None = Field(
        default=None,
        sa_column=Column(Integer, Computed("CASE WHEN finished_at IS NULL THEN 1 END", persisted=True)),
    )


def get(uuid: str, *, session: Session) -> Operation | None:
    """Return the operation with this UUID."""
    return session.exec(select(Operation).where(col(Operation.uuid) == uuid)).first()


def unfinished_of(node_id: int, *, session: Session) -> Operation | None:
    """Return the operation that is under way on a node."""
    statement = select(Operation).where(col(Operation.node_id) == node_id, col(Operation.finished_at).is_(None))
    return session.exec(statement).first()


def of_uuids(uuids: Collection[str], *, session: Session) -> Sequence[Operation]:
    """Return the operations with these UUIDs, oldest first."""
    return session.exec(select(Operation).where(col(Operation.uuid).in_(uuids)).order_by(col(Operation.id))).all()


def of_node(node_id: int, *, session: Session) -> Sequence[Operation]:
    """Return all operations of a node, oldest first."""
    return session.exec(select(Operation).where(col(Operation.node_id) == node_id).order_by(col(Operation.id))).all()


def of_run(run_id: str, *, session: Session) -> Sequence[Operation]:
    """Return the operations that a run holds."""
    return session.exec(select(Operation).where(col(Operation.run_id) == run_id).order_by(col(Operation.id))).all()


def to_abort(run_id: str, index: int, *, session: Session) -> Sequence[str]:
    """Return the UUIDs of the operations of a run that are to end, as their clients want, before the step ``index``."""
    asked = (col(Operation.abort_requested), col(Operation.error).is_(None), col(Operation.position) < index)
    mine = select(Operation.uuid).where(col(Operation.run_id) == run_id, *asked)
    return session.exec(mine.order_by(col(Operation.id))).all()


def due(at: datetime, *, session: Session) -> Sequence[Operation]:
    """Return the waiting operations whose next look or whose deadline has come."""
    waiting = select(Operation).where(
        col(Operation.status) == OperationStatus.WAITING,
        (col(Operation.wake_at) <= at) | (col(Operation.deadline_at) <= at),
    )
    return session.exec(waiting.order_by(col(Operation.id))).all()

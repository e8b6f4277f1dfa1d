# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Counts of the whole fleet: one query each, however many rows there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import func, or_, select
from sqlmodel import Session, col

from rackwright.store.conductor import Conductor
from rackwright.store.node import Node
from rackwright.store.operation import UNFINISHED, Operation


@dataclass(frozen=True, slots=True)
class NodeCount:
    """How many nodes are in a provision state, in maintenance or not."""

    provision_state: str
    maintenance: bool
    count: int


@dataclass(frozen=True, slots=True)
class OperationCount:
    """How many unfinished operations of a phase are in a status, in how many runs, and since when the oldest is."""

    phase: str
    status: str
    count: int
    runs: int
    oldest: datetime


@dataclass(frozen=True, slots=True)
class ConductorSign:
    """A conductor that has not signed off, and when it was last seen."""

    hostname: str
    seen_at: datetime
    alive: bool


def nodes(*, session: Session, visible_to: str | None = None) -> Sequence[NodeCount]:
    """Count the nodes, those of one project or all."""
    counted = select(col(Node.provision_state), col(Node.maintenance), func.count()).group_by(
        col(Node.provision_state), col(Node.maintenance)
    )
    if visible_to is not None:
        counted = counted.where(or_(col(Node.owner) == visible_to, col(Node.lessee) == visible_to))
    return [NodeCount(*row) for row in session.connection().execute(counted)]


def operations(*, session: Session) -> Sequence[OperationCount]:
    """Count the operations that are not over."""
    counted = (
        select(
            col(Operation.phase),
            col(Operation.status),
            func.count(),
            func.count(func.distinct(col(Operation.run_id))),
            func.min(col(Operation.updated_at)),
        )
        .where(col(Operation.status).in_(UNFINISHED))
        .group_by(col(Operation.phase), col(Operation.status))
    )
    return [OperationCount(*row) for row in session.connection().execute(counted)]


def conductors(*, session: Session, timeout: float, at: datetime) -> Sequence[ConductorSign]:
    """Return the conductors that have not signed off; alive is who was seen in the last ``timeout`` seconds."""
    wanted = select(col(Conductor.hostname), col(Conductor.updated_at)).where(col(Conductor.online))
    since = at - timedelta(seconds=timeout)
    found = session.connection().execute(wanted.order_by(col(Conductor.hostname)))
    return [ConductorSign(hostname, seen_at, seen_at > since) for hostname, seen_at in found]

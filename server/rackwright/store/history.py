# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The history table: errors and milestones of the nodes (contract: engine.md section 7)."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete
from sqlmodel import Session, SQLModel, col, select

from rackwright.domain.errors import HistoryNotFound
from rackwright.store.columns import created, identity, key, owner_node, text
from rackwright.store.source import Source, equal


class NodeHistory(SQLModel, table=True):
    """One entry of a node's history."""

    __tablename__ = "node_history"

    id: int | None = key()
    uuid: str = identity()
    created_at: datetime = created()
    node_id: int = owner_node()
    severity: str = "ERROR"  # or INFO
    event_type: str = "UNKNOWN"
    event: str | None = text()
    conductor: str | None = None
    user: str | None = None
    project: str | None = None
    state: str | None = None
    target_provision_state: str | None = None
    duration_seconds: int | None = None  # since provision_updated_at


listed = Source(NodeHistory, HistoryNotFound, equal(NodeHistory, "node_id"), named=False).listed


def get(uuid: str, *, node_id: int, session: Session) -> NodeHistory | None:
    """Return one entry of a node's history."""
    wanted = select(NodeHistory).where(col(NodeHistory.uuid) == uuid, col(NodeHistory.node_id) == node_id)
    return session.exec(wanted).first()


def add(entry: NodeHistory, *, session: Session) -> None:
    """Store one entry."""
    session.add(entry)


def trim(node_id: int, *, keep: int, session: Session) -> None:
    """Remove the oldest entries of a node above ``keep``."""
    newest = (
        select(NodeHistory.id)
        .where(col(NodeHistory.node_id) == node_id)
        .order_by(col(NodeHistory.id).desc())
        .offset(keep)
        .limit(1)
    )
    last = session.exec(newest).first()
    if last is not None:
        old = delete(NodeHistory).where(col(NodeHistory.node_id) == node_id, col(NodeHistory.id) <= last)
        session.connection().execute(old)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The history table: errors and milestones of the nodes (contract: engine.md section 7)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete
from sqlmodel import Session, SQLModel, col, select

from rackwright.domain.errors import HistoryNotFound
from rackwright.store.columns import created, identity, key, owner_node, text
from rackwright.store.paging import Page, Source


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


_SOURCE = Source(NodeHistory, HistoryNotFound)


def listed(columns: Sequence[str], *, session: Session, node_id: int, page: Page) -> list[dict[str, Any]]:
    """Return one page of a node's history with the named columns only."""
    chosen: list[Any] = [col(getattr(NodeHistory, name)) for name in columns]
    return _SOURCE.rows(chosen, [col(NodeHistory.node_id) == node_id], session=session, page=page)


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

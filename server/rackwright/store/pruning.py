# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The queries that remove what is kept no longer."""

from __future__ import annotations

from sqlalchemy import delete, func
from sqlmodel import Session, col, select

from rackwright.store.operation import Operation

BATCH = 500
"""Rows that are removed in one transaction."""


def remove_operations(keep: int, *, session: Session) -> int:
    """Remove operations that are over, of each node the oldest above ``keep``; return how many, at most BATCH."""
    newest_first = func.row_number().over(partition_by=col(Operation.node_id), order_by=col(Operation.id).desc())
    over = select(col(Operation.id).label("id"), newest_first.label("place"))
    ranked = over.where(col(Operation.finished_at).is_not(None)).subquery()
    found = session.exec(select(ranked.c.id).where(ranked.c.place > keep).limit(BATCH)).all()
    if found:
        session.execute(delete(Operation).where(col(Operation.id).in_(found)))
    return len(found)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The queries that find and remove what is kept no longer."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sqlalchemy import delete, func, select
from sqlmodel import Session, col

from rackwright.store.operation import Operation


def surplus_operations(keep: int, *, most: int, session: Session) -> Sequence[int]:
    """Return the primary keys of operations that are over, of each node all but the newest ``keep``; at most ``most``.

    It looks at all operations that there are: ask in a session that only reads, for which nobody waits.
    """
    newest_first = func.row_number().over(partition_by=col(Operation.node_id), order_by=col(Operation.id).desc())
    ranked = (
        select(col(Operation.id).label("id"), newest_first.label("place"))
        .where(col(Operation.finished_at).is_not(None))
        .subquery()
    )
    found = select(ranked.c.id).where(ranked.c.place > keep).limit(most)
    return session.connection().execute(found).scalars().all()


def remove_operations(keys: Collection[int], *, session: Session) -> None:
    """Remove operations by their primary keys."""
    session.execute(delete(Operation).where(col(Operation.id).in_(keys)))

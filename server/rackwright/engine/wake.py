# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What makes a waiting operation ready again: the one thing that API processes do to an operation.

The conductor finds the ready row at its next look; nothing else passes between the two.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlmodel import Session

from rackwright.domain.outcomes import WaitFor
from rackwright.store import operation as operations
from rackwright.store.node import Node
from rackwright.store.operation import OperationStatus


def wake(session: Session, node: Node, reason: WaitFor, *, facts: Mapping[str, Any] | None = None) -> bool:
    """Make the operation of a node ready if it waits for ``reason``; tell whether it did.

    ``facts`` are added to those of the operation then. The caller has locked the node and commits.
    """
    operation = operations.unfinished_of(node.id or 0, session=session)
    if operation is None or (operation.status, operation.waits_for) != (OperationStatus.WAITING, reason):
        return False
    operation.status, operation.waits_for, operation.wake_at = OperationStatus.READY.value, None, None
    operation.facts = {**operation.facts, **(facts or {})}
    session.add(operation)
    return True

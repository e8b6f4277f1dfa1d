# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The allocation table: wishes for a node, and the nodes that were found for them (contract: engine.md)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlmodel import Field, Session, SQLModel, col, select

from rackwright.domain.errors import AllocationNotFound
from rackwright.store.columns import created, identity, json_list, json_object, key, text, updated
from rackwright.store.source import Source, equal


class AllocationState(StrEnum):
    """How far an allocation is."""

    ALLOCATING = "allocating"
    """It waits for the conductor."""
    ACTIVE = "active"
    """It has a node."""
    ERROR = "error"
    """No node was found; ``last_error`` says why."""


class Allocation(SQLModel, table=True):
    """One allocation; ``node_uuid`` is null until a node was found."""

    id: int | None = key()
    uuid: str = identity()
    created_at: datetime = created()
    updated_at: datetime | None = updated()
    name: str | None = Field(default=None, unique=True)
    owner: str | None = None
    resource_class: str | None = Field(default=None, max_length=80)
    traits: list[str] = json_list()
    candidate_nodes: list[str] = json_list()
    extra: dict[str, Any] = json_object()
    node_uuid: str | None = Field(default=None, max_length=36, index=True)
    state: str = Field(default=AllocationState.ALLOCATING.value, index=True)
    last_error: str | None = text()


ALLOCATIONS = Source(
    Allocation,
    AllocationNotFound,
    {
        **equal(Allocation, "node_uuid", "resource_class", "state", "owner"),
        "visible_to": lambda project: col(Allocation.owner) == project,
    },
)


def of_node(node_uuid: str, *, session: Session) -> Allocation | None:
    """Return the allocation that has this node."""
    return session.exec(select(Allocation).where(col(Allocation.node_uuid) == node_uuid)).first()


def waiting(*, session: Session) -> Sequence[str]:
    """Return the UUIDs of the allocations that wait for a node, oldest first."""
    wanted = select(Allocation.uuid).where(col(Allocation.state) == AllocationState.ALLOCATING)
    return session.exec(wanted.order_by(col(Allocation.id))).all()

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The inventory table: what the last inspection of a node found."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlmodel import Field, Session, SQLModel, col, select

from rackwright.store.columns import created, json_object, key, updated


class NodeInventory(SQLModel, table=True):
    """The inventory of one node and what the inspection hooks made of it."""

    __tablename__ = "node_inventory"

    id: int | None = key()
    created_at: datetime = created()
    updated_at: datetime | None = updated()
    node_id: int = Field(foreign_key="node.id", ondelete="CASCADE", unique=True)
    inventory: dict[str, Any] = json_object()
    plugin_data: dict[str, Any] = json_object()


def of_node(node_id: int, *, session: Session) -> NodeInventory | None:
    """Return the inventory of a node, None when it has not been inspected."""
    return session.exec(select(NodeInventory).where(col(NodeInventory.node_id) == node_id)).first()


def save(node_id: int, inventory: dict[str, Any], plugin_data: dict[str, Any], *, session: Session) -> None:
    """Store the inventory of a node in place of its former one."""
    row = of_node(node_id, session=session) or NodeInventory(node_id=node_id)
    row.inventory, row.plugin_data = inventory, plugin_data
    session.add(row)

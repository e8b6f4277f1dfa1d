# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What happened to a node, and what its last inspection found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rackwright.domain.errors import HistoryNotFound, InventoryNotFound
from rackwright.services import access, nodes
from rackwright.services.context import Context
from rackwright.store import history, inventory
from rackwright.store.node import Node
from rackwright.store.paging import Page


def listed(node: Node, columns: Sequence[str], *, context: Context, page: Page) -> list[dict[str, Any]]:
    """Return one page of a node's history; raise HistoryNotFound for an unknown marker."""
    _demand(node, context)
    return history.listed(columns, session=context.session, filters={"node_id": node.id}, page=page)


def get(node: Node, uuid: str, *, context: Context) -> dict[str, Any]:
    """Return one entry; raise HistoryNotFound."""
    _demand(node, context)
    found = history.get(uuid, node_id=node.id or 0, session=context.session)
    if found is None:
        raise HistoryNotFound(ident=uuid)
    return found.model_dump()


def _demand(node: Node, context: Context) -> None:
    access.demand("baremetal:node:history:get", node, context=context)


def inventory_of(ident: str, *, context: Context) -> dict[str, Any]:
    """Return ``inventory`` and ``plugin_data`` of the last inspection; raise NodeNotFound or InventoryNotFound."""
    node = nodes.get(ident, context=context)
    access.demand("baremetal:node:inventory:get", node, context=context)
    found = inventory.of_node(node.id or 0, session=context.session)
    if found is None:
        raise InventoryNotFound(ident=node.uuid)
    return {"inventory": found.inventory, "plugin_data": found.plugin_data}

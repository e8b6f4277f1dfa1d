# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The operations of a node: what was asked of it, when, and how the time was spent."""

from __future__ import annotations

from typing import Any

from rackwright.domain.errors import NodeNotFound
from rackwright.services import access
from rackwright.services.context import Context
from rackwright.store import node as nodes
from rackwright.store import operation as operations
from rackwright.store.operation import Operation

_SHOWN = ("uuid", "phase", "verb", "status", "user", "error", "started_at", "finished_at", "timeline")


def of_node(ident: str, *, context: Context) -> list[dict[str, Any]]:
    """Return the operations of a node, oldest first; raise NodeNotFound."""
    node = nodes.get(ident, session=context.session)  # not Ironic's: a name is known at every version
    access.see(node, context=context, hidden=NodeNotFound(ident=ident))
    access.demand("baremetal:node:history:get", node, context=context)
    return [_shown(each) for each in operations.of_node(node.id or 0, session=context.session)]


def _shown(operation: Operation) -> dict[str, Any]:
    return operation.model_dump(mode="json", include=set(_SHOWN))

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Log lines of the conductor tell which operation of which node they are about, and which request asked for it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from rackwright.store.node import Node
from rackwright.store.operation import Operation
from rackwright.telemetry import facts

REQUEST = "request_id"
"""Key of ``operation.request``: the id of the request, as the API has told it to the client."""

_IDS = {REQUEST: "request", "global_request_id": "global_request"}
"""Keys of ``operation.request``, and the facts of log lines that they come from and become again."""


def kept() -> dict[str, Any]:
    """Return what an operation keeps of the request that is being answered; nothing outside of one."""
    known = facts.current()
    return {key: known[fact] for key, fact in _IDS.items() if fact in known}


def about(operation: Operation, node: Node, *, run: str | None = None) -> AbstractContextManager[None]:
    """Let log lines of what is done inside tell of the operation, its node and its request."""
    ids = {fact: operation.request.get(key) for key, fact in _IDS.items()}
    return facts.about(operation=operation.uuid, node=node.uuid, run=run, **ids)

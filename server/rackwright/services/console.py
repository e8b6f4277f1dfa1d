# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The console of a node: whether it is on, and how to reach it (contract: api.yaml, states/console)."""

from __future__ import annotations

from typing import Any

from rackwright.domain.verbs import Interface
from rackwright.services import access, nodes, validate
from rackwright.services.context import Context, check_unlocked


def show(ident: str, *, context: Context) -> dict[str, Any]:
    """Return ``console_enabled`` and ``console_info``; raise NodeNotFound, or Invalid for a node without console."""
    node = nodes.get(ident, context=context)
    access.demand("baremetal:node:get_console", node, context=context)
    validate.check(node, Interface.CONSOLE, attempted="Showing the console", context=context)
    enabled = node.console_enabled
    return {"console_enabled": enabled, "console_info": {} if enabled else None}


def change(ident: str, enabled: bool, *, context: Context) -> None:
    """Switch the console on or off; raise NodeNotFound, NodeLocked, or Invalid for a node without console."""
    node = nodes.get(ident, context=context, lock=True)
    access.demand("baremetal:node:set_console_state", node, context=context)
    validate.check(node, Interface.CONSOLE, attempted="Switching the console", context=context)
    check_unlocked(node)
    if node.console_enabled == enabled:
        return
    node.console_enabled = enabled
    context.session.add(node)
    context.session.commit()

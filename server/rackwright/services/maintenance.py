# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The maintenance flag of nodes (contract: state-machine.yaml, maintenance)."""

from __future__ import annotations

from rackwright.services import access, nodes
from rackwright.services.context import Context, check_stoppable, check_unlocked


def change(ident: str, wanted: bool, reason: str | None = None, *, context: Context) -> None:
    """Set or clear the flag; clearing also clears reason and fault. Raise NodeNotFound, Forbidden or NodeLocked.

    The flag can be set while an operation goes on: one that hangs at a dead BMC must not keep the node.
    """
    node = nodes.get(ident, context=context, lock=True)
    access.demand(f"baremetal:node:{'set' if wanted else 'clear'}_maintenance", node, context=context)
    if wanted:
        check_stoppable(node, session=context.session)
    else:
        check_unlocked(node)
    node.maintenance, node.maintenance_reason = wanted, reason
    if not wanted:
        node.fault = None
    context.session.add(node)
    context.session.commit()

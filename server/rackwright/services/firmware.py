# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The components of a node that carry firmware, and the versions that a step last read or wrote."""

from __future__ import annotations

from typing import Any

from rackwright.services import access, nodes
from rackwright.services.context import Context
from rackwright.store import hardware


def listed(ident: str, *, context: Context) -> list[dict[str, Any]]:
    """Return a row for each firmware component of a node, by name; raise NodeNotFound."""
    node = nodes.get(ident, context=context)
    access.demand("baremetal:node:firmware:get", node, context=context)
    return [each.model_dump() for each in hardware.components_of(node.id or 0, session=context.session)]

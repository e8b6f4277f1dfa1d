# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The BIOS settings of a node, as a step last read or set them."""

from __future__ import annotations

from typing import Any

from rackwright.services import access, nodes
from rackwright.services.context import Context
from rackwright.store import hardware
from rackwright.store.hardware import BiosSetting
from rackwright.store.node import Node

_RULE = "baremetal:node:bios:get"


def listed(ident: str, *, context: Context) -> list[dict[str, Any]]:
    """Return a row for each BIOS setting of a node, by name; raise NodeNotFound."""
    node = _node(ident, context)
    return [_row(each, node) for each in hardware.settings_of(node.id or 0, session=context.session)]


def get(ident: str, name: str, *, context: Context) -> dict[str, Any]:
    """Return the row of one BIOS setting; raise NodeNotFound or BiosSettingNotFound."""
    node = _node(ident, context)
    return _row(hardware.setting(node, name, session=context.session), node)


def _node(ident: str, context: Context) -> Node:
    node = nodes.get(ident, context=context)
    access.demand(_RULE, node, context=context)
    return node


def _row(each: BiosSetting, node: Node) -> dict[str, Any]:
    return each.model_dump() | {"node_uuid": node.uuid}

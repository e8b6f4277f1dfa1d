# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Virtual interfaces of nodes: the network interface noop keeps none, and takes every one for attached."""

from __future__ import annotations

from rackwright.domain.verbs import Interface
from rackwright.services import nodes, validate
from rackwright.services.context import Context, check_unlocked


def of(ident: str, *, context: Context) -> list[dict[str, str]]:
    """Return the virtual interfaces attached to a node; raise NodeNotFound."""
    nodes.get(ident, context=context)
    return []


def attach(ident: str, *, context: Context) -> None:
    """Attach a virtual interface; raise NodeNotFound, NodeLocked, or Invalid without a network interface."""
    _check(ident, "Attaching a VIF", context)


def detach(ident: str, *, context: Context) -> None:
    """Detach a virtual interface; raise as ``attach`` does."""
    _check(ident, "Detaching a VIF", context)


def _check(ident: str, attempted: str, context: Context) -> None:
    node = nodes.get(ident, context=context)
    check_unlocked(node)
    validate.check(node, Interface.NETWORK, attempted=attempted, context=context)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Traits of nodes: at most 50 names that say what a machine can do."""

from __future__ import annotations

from collections.abc import Iterable

from rackwright.domain.errors import Invalid, TraitNotFound
from rackwright.services import access, nodes
from rackwright.services.context import Context, check_unlocked
from rackwright.store.node import Node

LIMIT = 50


def of(ident: str, *, context: Context) -> list[str]:
    """Return the traits of a node by name; raise NodeNotFound."""
    node = nodes.get(ident, context=context)
    access.demand("baremetal:node:traits:list", node, context=context)
    return sorted(node.traits)


def replace(ident: str, traits: Iterable[str], *, context: Context) -> None:
    """Give a node exactly these traits; raise NodeNotFound, NodeLocked, or Invalid for too many."""
    wanted = set(traits)
    _set(_changeable(ident, "set" if wanted else "delete", context), wanted, context)


def add(ident: str, trait: str, *, context: Context) -> None:
    """Add one trait; raise NodeNotFound, NodeLocked, or Invalid for too many."""
    node = _changeable(ident, "set", context)
    _set(node, {*node.traits, trait}, context)


def remove(ident: str, trait: str, *, context: Context) -> None:
    """Remove one trait; raise NodeNotFound, NodeLocked or TraitNotFound."""
    node = _changeable(ident, "delete", context)
    if trait not in node.traits:
        raise TraitNotFound(ident=trait, node=node.uuid)
    _set(node, set(node.traits) - {trait}, context)


def _changeable(ident: str, what: str, context: Context) -> Node:
    node = nodes.get(ident, context=context, lock=True)
    access.demand(f"baremetal:node:traits:{what}", node, context=context)
    return node


def _set(node: Node, traits: set[str], context: Context) -> None:
    check_unlocked(node)
    if len(traits) > LIMIT:
        raise Invalid(f"A node has at most {LIMIT} traits; these would be {len(traits)}.")
    node.traits = sorted(traits)
    context.session.add(node)
    context.session.commit()

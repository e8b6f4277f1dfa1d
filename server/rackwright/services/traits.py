# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Traits of nodes: at most 50 names that say what a machine can do."""

from __future__ import annotations

from collections.abc import Iterable

from rackwright.domain.errors import Invalid, TraitNotFound
from rackwright.services import nodes
from rackwright.services.context import Context, check_unlocked
from rackwright.store.node import Node

LIMIT = 50


def of(ident: str, *, context: Context) -> list[str]:
    """Return the traits of a node by name; raise NodeNotFound."""
    return sorted(nodes.get(ident, context=context).traits)


def replace(ident: str, traits: Iterable[str], *, context: Context) -> None:
    """Give a node exactly these traits; raise NodeNotFound, NodeLocked, or Invalid for too many."""
    _set(nodes.get(ident, context=context, lock=True), set(traits), context)


def add(ident: str, trait: str, *, context: Context) -> None:
    """Add one trait; raise NodeNotFound, NodeLocked, or Invalid for too many."""
    node = nodes.get(ident, context=context, lock=True)
    _set(node, {*node.traits, trait}, context)


def remove(ident: str, trait: str, *, context: Context) -> None:
    """Remove one trait; raise NodeNotFound, NodeLocked or TraitNotFound."""
    node = nodes.get(ident, context=context, lock=True)
    if trait not in node.traits:
        raise TraitNotFound(ident=trait, node=node.uuid)
    _set(node, set(node.traits) - {trait}, context)


def _set(node: Node, traits: set[str], context: Context) -> None:
    check_unlocked(node)
    if len(traits) > LIMIT:
        raise Invalid(f"A node has at most {LIMIT} traits; these would be {len(traits)}.")
    node.traits = sorted(traits)
    context.session.add(node)
    context.session.commit()

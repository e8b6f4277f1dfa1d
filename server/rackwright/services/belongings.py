# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What ports, port groups and volumes have in common: each belongs to one node, and its rules ask that node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from rackwright.domain.errors import Duplicate, Invalid, NodeNotFound, NotFound, WrongState
from rackwright.domain.states import ProvisionState
from rackwright.services import access, nodes
from rackwright.services.context import Context, check_unlocked, no_duplicate
from rackwright.store import node as node_store
from rackwright.store.node import Node

Row = dict[str, Any]

_INSPECTING_FROZEN_SINCE = 39


class Belonging(Protocol):
    """A row that belongs to a node."""

    id: int | None
    uuid: str
    node_id: int

    def model_dump(self) -> Row:
        """Return all columns."""


def node_of(belonging: Belonging, *, context: Context) -> Node:
    """Return the node that a row belongs to."""
    return node_store.by_id(belonging.node_id, session=context.session)


def demand(rule: str, belonging: Belonging, *, hidden: NotFound, context: Context) -> Node:
    """Return the node of a row to a caller who may do there what ``rule`` names; raise Forbidden, or ``hidden``."""
    node = node_of(belonging, context=context)
    access.demand(rule, node, context=context, hidden=hidden)
    return node


def row(belonging: Belonging, *, context: Context) -> Row:
    """Return all columns of a row, and the UUID of its node."""
    return belonging.model_dump() | {"node_uuid": node_of(belonging, context=context).uuid}


def future_node(ident: str, rule: str, *, context: Context) -> Node:
    """Return the node that a row shall belong to, for callers who may do there what ``rule`` names.

    Raise Invalid when there is no such node, Forbidden.
    """
    try:
        node = node_store.get(ident, session=context.session)
        access.demand(rule, node, context=context, hidden=NodeNotFound(ident=ident))
    except NodeNotFound as error:
        raise Invalid(f"Node {ident} could not be found.") from error
    return node


def stored(kind: str, filters: Mapping[str, Any], *, context: Context) -> dict[str, Any]:
    """Return the filters of a list as the store knows them, narrowed to what the caller may list.

    ``kind`` is what the rules are named after. Raise NodeNotFound for an unknown ``node``, Forbidden.
    """
    found = dict(filters)
    if (project := access.visible_to(kind, context=context)) is not None:
        found["visible_to"] = project
    if "node" in found:
        found["node_id"] = nodes.get(found.pop("node"), context=context).id
    return found


INSPECTED_FIRST = "Try again when the inspection has ended."


def check_changeable(node: Node, *, attempted: str, context: Context) -> None:
    """Raise NodeLocked while somebody holds the node, WrongState while it is inspected (from 1.39)."""
    check_unlocked(node)
    state = ProvisionState(node.provision_state)
    if state is ProvisionState.INSPECTING and context.minor >= _INSPECTING_FROZEN_SINCE:
        raise WrongState(attempted=attempted, node=node.uuid, state=state, action=INSPECTED_FIRST)


def keep(
    belonging: Belonging,
    values: Mapping[str, Any],
    *,
    what: str,
    unique: Iterable[str],
    taken: Callable[..., bool],
    context: Context,
) -> None:
    """Give a row these values and commit it; raise Duplicate for a unique one that another row has."""
    for name in unique:
        value = values.get(name)
        if value is not None and taken(name, value, besides=belonging.id, session=context.session):
            raise Duplicate(what=f"A {what} with {name}", ident=value)
    for name, value in values.items():
        setattr(belonging, name, value)
    context.session.add(belonging)
    with no_duplicate(
        f"A {what} with one of these:", ", ".join(str(values[name]) for name in unique if name in values)
    ):
        context.session.commit()

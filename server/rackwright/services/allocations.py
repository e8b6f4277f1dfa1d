# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Allocations: ask for a node by what it is; the conductor finds one (contract: node-fields.md, "Allocation")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rackwright.domain.errors import (
    AllocationFailed,
    AllocationNotFound,
    Duplicate,
    Invalid,
    MissingParameter,
    NodeNotFound,
    Unavailable,
    WrongState,
)
from rackwright.domain.states import ProvisionState
from rackwright.engine import allocation as engine
from rackwright.services import access, conductors, nodes
from rackwright.services.context import Context, check_unlocked, no_duplicate
from rackwright.services.node_rules import associated
from rackwright.store import allocation as store
from rackwright.store import node as node_store
from rackwright.store.allocation import ALLOCATIONS, Allocation, AllocationState
from rackwright.store.node import Node
from rackwright.store.paging import Page

Row = dict[str, Any]


def get(ident: str, *, context: Context, lock: bool = False) -> Allocation:
    """Return the allocation with this UUID or name; raise AllocationNotFound or Forbidden."""
    found = ALLOCATIONS.get(ident, session=context.session, lock=lock)
    access.see(found, context=context, hidden=AllocationNotFound(ident=ident))
    return found


def of_node(ident: str, *, context: Context) -> Allocation:
    """Return the allocation that has this node; raise NodeNotFound, AllocationNotFound or Forbidden."""
    node = nodes.get(ident, context=context)
    found = store.of_node(node.uuid, session=context.session)
    missing = AllocationNotFound(f"Node {ident} has no allocation.")
    if found is None:
        raise missing
    access.see(found, context=context, hidden=missing)
    return found


def listed(columns: Sequence[str], *, context: Context, filters: Mapping[str, Any], page: Page) -> list[Row]:
    """Return one page of allocations; raise Invalid for an unknown node, AllocationNotFound for an unknown marker.

    Raise Forbidden for a foreign ``owner``.
    """
    stored = dict(filters)
    access.check_project_filter("allocation", stored.get("owner"), context=context)
    own = access.visible_to("allocation", context=context)
    if own is not None:
        stored["visible_to"] = own
    if "node" in stored:
        stored["node_uuid"] = _node(stored.pop("node"), context).uuid
    return ALLOCATIONS.listed(columns, session=context.session, filters=stored, page=page)


def create(values: Mapping[str, Any], *, context: Context) -> Allocation:
    """Create an allocation and return it; with ``node`` it is active at once, else the conductor takes it up.

    Raise Invalid, MissingParameter, Duplicate, NodeAssociated, NodeLocked, Forbidden, Unavailable, or AllocationFailed
    when ``node`` does not fit; the allocation then exists, in state error.
    """
    given = {name: value for name, value in values.items() if value is not None}
    _check_owner(given, context)
    node = _node(given.pop("node"), context, lock=True) if "node" in given else None
    if node is not None:
        _adapt(given, node)
    if "resource_class" not in given:
        raise MissingParameter(name="resource_class")
    if not conductors.alive(context=context):
        raise Unavailable("No conductor is running that could find a node; start one and try again.")
    given["candidate_nodes"] = [_node(each, context).uuid for each in given.get("candidate_nodes", ())]
    wanted = Allocation(**given)
    for name in ("uuid", "name"):
        _check_free(wanted, name, context)
    return _stored(wanted, context) if node is None else _backfilled(wanted, node, context)


def update(allocation: Allocation, values: Mapping[str, Any], *, context: Context) -> None:
    """Change name and extra of an allocation; raise Duplicate or Forbidden."""
    access.demand("baremetal:allocation:update", allocation, context=context)
    for name, value in values.items():
        setattr(allocation, name, value or ({} if name == "extra" else None))
    _check_free(allocation, "name", context)
    _stored(allocation, context)


def delete(allocation: Allocation, *, context: Context) -> None:
    """Remove an allocation; its node is free again.

    Raise Forbidden, NodeLocked, or WrongState while the node is in use.
    """
    access.demand("baremetal:allocation:delete", allocation, context=context)
    if allocation.node_uuid is None:
        context.session.delete(allocation)
    else:
        node = node_store.get(allocation.node_uuid, session=context.session, lock=True)
        _check_idle(node)
        engine.take_back(node, session=context.session)
    context.session.commit()


def _check_owner(given: dict[str, Any], context: Context) -> None:
    """Demand that the caller may ask for a node at all; most callers may do so for their own project only."""
    access.demand("baremetal:allocation:create", context=context)
    unrestricted = "baremetal:allocation:create_restricted"
    if (
        not access.allows(unrestricted, context=context)
        and given.setdefault("owner", context.project) != context.project
    ):
        access.demand(unrestricted, context=context)


def _check_idle(node: Node) -> None:
    check_unlocked(node)
    state = ProvisionState(node.provision_state)
    frozen = node.target_provision_state is not None and not state.traits.patch_allowed_when_target_set
    if not node.maintenance and (state is ProvisionState.ACTIVE or frozen):
        first = "Undeploy it" if state is ProvisionState.ACTIVE else "Wait until what goes on with it has ended"
        action = f"{first}, or put it into maintenance; then try again."
        raise WrongState(attempted="Deleting the allocation", node=node.uuid, state=state, action=action)


def _node(ident: str, context: Context, *, lock: bool = False) -> Node:
    try:
        return nodes.get(ident, context=context, lock=lock)
    except NodeNotFound as error:
        raise Invalid(error.message) from error


def _adapt(given: dict[str, Any], node: Node) -> None:
    """Take class and UUID from the node where the client leaves them out; raise NodeAssociated or NodeLocked."""
    check_unlocked(node)
    given.setdefault("resource_class", node.resource_class)
    if node.instance_uuid is not None:
        given.setdefault("uuid", node.instance_uuid)
    if node.allocation_uuid or node.instance_uuid not in (None, given.get("uuid")):
        raise associated(node)


def _backfilled(allocation: Allocation, node: Node, context: Context) -> Allocation:
    try:
        engine.backfill(allocation, node)
    except AllocationFailed as error:
        allocation.state, allocation.last_error = AllocationState.ERROR.value, error.message
        _stored(allocation, context)
        raise
    context.session.add(node)
    return _stored(allocation, context)


def _stored(allocation: Allocation, context: Context) -> Allocation:
    context.session.add(allocation)
    with no_duplicate("An allocation with name or UUID", allocation.name or allocation.uuid):
        context.session.commit()
    return allocation


def _check_free(allocation: Allocation, name: str, context: Context) -> None:
    value = getattr(allocation, name)
    if value is not None and ALLOCATIONS.taken(name, value, besides=allocation.id, session=context.session):
        error = Duplicate(what=f"An allocation with {name}", ident=value)
        with context.session.no_autoflush:
            failed = ALLOCATIONS.get(value, session=context.session).state == AllocationState.ERROR
        raise Duplicate(f"{error.message} It failed; delete allocation {value} first.") if failed else error

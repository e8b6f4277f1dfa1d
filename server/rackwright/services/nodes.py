# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Nodes: list, create, change and remove them (contract: node-fields.md, api.yaml)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rackwright.domain.errors import NodeNotFound, NodeProtected, WrongState
from rackwright.domain.states import DeleteAllowed, ProvisionState
from rackwright.engine import allocation, plan
from rackwright.services import access, conductors, node_access, node_rules
from rackwright.services.context import Context, check_stoppable, check_unlocked, no_duplicate
from rackwright.services.node_rules import Change, associated
from rackwright.store import node as nodes
from rackwright.store.node import Node
from rackwright.store.paging import Page

Row = dict[str, Any]

log = logging.getLogger(__name__)

_NAMES_SINCE = 5
_ENROLL_SINCE = 11
_FOR_HOST = ("uuid", "driver", "conductor_group")


def get(ident: str, *, context: Context, lock: bool = False) -> Node:
    """Return the node with this UUID or (from 1.5) name; raise NodeNotFound, also when the caller must not see it."""
    found = nodes.get(ident, session=context.session, lock=lock)
    if context.minor < _NAMES_SINCE and found.name == ident:
        raise NodeNotFound(ident=ident)
    access.see(found, context=context, hidden=NodeNotFound(ident=ident))
    return found


def row(node: Node, *, context: Context) -> Row:
    """Return all columns of a node, as far as the caller may read them, and its conductor."""
    found = node.model_dump()
    conductors.add_hosts([found], context=context)
    node_access.redact([found], context=context)
    return found


def states(ident: str, *, context: Context) -> Row:
    """Return all columns of a node, as far as the caller may read its states; raise NodeNotFound or Forbidden."""
    node = get(ident, context=context)
    access.demand("baremetal:node:get_states", node, context=context)
    found = node.model_dump()
    node_access.redact([found], context=context)
    return found


def listed(columns: Sequence[str], *, context: Context, filters: Mapping[str, Any], page: Page) -> list[Row]:
    """Return one page of nodes with the named columns; ``conductor`` may be one of them and one of the filters.

    Raise NodeNotFound for an unknown marker, Forbidden for a filter that names another project than the caller's.
    """
    node_access.check_filters(filters, context=context)
    host = filters.get("conductor")
    stored = {name: value for name, value in filters.items() if name != "conductor"}
    if host is None:
        return _page(columns, context, stored, page)
    found: list[Row] = []
    while page.limit is None or len(found) < page.limit:
        rows = _page((*columns, "conductor"), context, stored, page)
        found += [each for each in rows if each["conductor"] == host]
        if page.limit is None or len(rows) < page.limit:
            break
        page = replace(page, marker=rows[-1]["uuid"])
    return found[: page.limit]


def _page(columns: Sequence[str], context: Context, filters: Mapping[str, Any], page: Page) -> list[Row]:
    wanted = [name for name in columns if name != "conductor"]
    if "conductor" in columns:
        wanted += _FOR_HOST
    wanted += node_access.needed(columns, context=context)
    filters = _seen(filters, context)
    rows = nodes.listed(tuple(dict.fromkeys(wanted)), session=context.session, filters=filters, page=page)
    if "conductor" in columns:
        conductors.add_hosts(rows, context=context)
    node_access.redact(rows, context=context)
    return rows


def _seen(filters: Mapping[str, Any], context: Context) -> Mapping[str, Any]:
    """Return filters that let only nodes pass which the caller may list."""
    project = access.visible_to("node", context=context)
    return filters if project is None else {**filters, "visible_to": project}


def children(uuid: str, *, context: Context) -> list[str]:
    """Return the UUIDs of the nodes whose parent is this node."""
    filters = _seen({"parent_node": uuid}, context)
    return [each["uuid"] for each in nodes.listed(["uuid"], session=context.session, filters=filters, page=Page())]


def create(values: Mapping[str, Any], *, context: Context) -> Node:
    """Create a node and return it.

    Raise Invalid or a child of it for values that cannot be, Duplicate for a UUID, name or instance that is taken.
    """
    settings = context.settings
    values = node_access.owned(values, context=context)
    node = Node(driver=values["driver"], provision_state=_first_state(context.minor).value)
    node.resource_class = settings.default_resource_class
    node.conductor_group = settings.default_conductor_group.lower()
    changes = Change(node, {name: value for name, value in values.items() if name != "uuid"}, context, new=True)
    if values.get("uuid"):
        node.uuid = values["uuid"]
    node_rules.check(changes)
    _store(node, changes)
    return node


def _first_state(minor: int) -> ProvisionState:
    return ProvisionState.ENROLL if minor >= _ENROLL_SINCE else ProvisionState.AVAILABLE


def update(node: Node, values: Mapping[str, Any], *, context: Context, reset_interfaces: bool = False) -> None:
    """Change fields of a node, all or none of them; raise Invalid, Conflict or children of them."""
    node_access.check_update(node, values, context=context)
    changes = Change(node, dict(values), context, reset_interfaces=reset_interfaces)
    node_rules.check(changes)
    _store(node, changes)


def _store(node: Node, changes: Change) -> None:
    context = changes.context
    for name, value in changes.values.items():
        sealed = name in nodes.SEALED_FIELDS
        setattr(node, name, context.sealer.seal(value) if sealed else value)
    ident = ", ".join(str(each) for each in (node.name, node.instance_uuid, node.uuid) if each)
    context.session.add(node)
    with no_duplicate("A node with one of these names or UUIDs:", ident):
        context.session.commit()


def delete(ident: str, *, context: Context) -> None:
    """Remove a node and all that belongs to it; its BMC is not asked.

    What goes on with a node in maintenance is stopped. Raise NodeNotFound, NodeProtected, NodeAssociated, WrongState or
    NodeLocked.
    """
    node = get(ident, context=context, lock=True)
    node_access.check_delete(node, context=context)
    if not node.maintenance:
        check_unlocked(node)
    if node.protected:
        raise NodeProtected(attempted="Deleting", node=node.uuid)
    if node.instance_uuid and not node.maintenance:
        raise associated(node)
    if not node.maintenance and not _deletable(node, context):
        state = node.provision_state
        raise WrongState(attempted="Deleting", node=node.uuid, state=state, action=_LET_GO)
    if node.maintenance:
        check_stoppable(node, session=context.session)
        _tell_of_leftovers(node)
    plan.cancel_operations(session=context.session, node=node)
    allocation.take_back(node, session=context.session)
    context.session.delete(node)
    context.session.commit()


_LET_GO = (
    "Bring it into state manageable or enroll first (undeploy it where it is deployed), or put it into maintenance, "
    "which gives the machine up as it is."
)


def _tell_of_leftovers(node: Node) -> None:
    """Warn of a machine that was given up in a state in which it may hold data of an instance."""
    if ProvisionState(node.provision_state).traits.delete_allowed is DeleteAllowed.NO:
        facts = {"action": "delete", "node": node.uuid, "state": node.provision_state}
        log.warning("A node was removed in maintenance; its machine was not cleaned", extra=facts)


def _deletable(node: Node, context: Context) -> bool:
    allowed = ProvisionState(node.provision_state).traits.delete_allowed
    if allowed is DeleteAllowed.CONFIG:
        return context.settings.allow_deleting_available_nodes
    return allowed is DeleteAllowed.YES

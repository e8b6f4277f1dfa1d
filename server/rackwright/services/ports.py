# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Ports: list, create, change and remove them (contract: node-fields.md, "Port")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rackwright.domain.errors import Conflict, Duplicate, Invalid, NodeNotFound, WrongState
from rackwright.domain.states import ProvisionState
from rackwright.services import nodes
from rackwright.services.context import Context, check_unlocked, no_duplicate
from rackwright.store import node as node_store
from rackwright.store import port as ports
from rackwright.store.node import Node
from rackwright.store.paging import Page
from rackwright.store.port import Port

Row = dict[str, Any]

_CONNECTIVITY = ("pxe_enabled", "local_link_connection", "portgroup_uuid", "physical_network")
_P = ProvisionState
_FREE = (_P.ENROLL, _P.INSPECTING, _P.INSPECT_WAIT, _P.MANAGEABLE)
_INSPECTING_FROZEN_SINCE = 39


def get(ident: str, *, context: Context, lock: bool = False) -> Port:
    """Return the port with this UUID, name or MAC address; raise PortNotFound."""
    return ports.get(ident, session=context.session, lock=lock)


def row(port: Port, *, context: Context) -> Row:
    """Return all columns of a port, and the UUID of its node."""
    return port.model_dump() | {"node_uuid": node_store.by_id(port.node_id, session=context.session).uuid}


def listed(columns: Sequence[str], *, context: Context, filters: Mapping[str, Any], page: Page) -> list[dict[str, Any]]:
    """Return one page of ports; raise NodeNotFound for an unknown node, PortNotFound for an unknown marker."""
    stored = dict(filters)
    if "node" in stored:
        stored["node_id"] = nodes.get(stored.pop("node"), context=context).id
    return ports.listed(columns, session=context.session, filters=stored, page=page)


def create(values: Mapping[str, Any], *, context: Context) -> Port:
    """Create a port and return it; raise Invalid, Duplicate or NodeLocked."""
    given = dict(values)
    node = _node(given.pop("node_uuid", None) or given.pop("node_ident", None), context)
    check_unlocked(node)
    port = Port(**given, node_id=node.id or 0)
    _check_links(given)
    _store(port, given, context)
    return port


def update(port: Port, values: Mapping[str, Any], *, context: Context) -> None:
    """Change fields of a port, all or none of them; raise Invalid, Conflict or children of them."""
    changes = dict(values)
    node = node_store.by_id(port.node_id, session=context.session)
    check_unlocked(node)
    _check_state(port, changes, node, context)
    _check_links(changes)
    if "node_uuid" in changes:
        changes["node_id"] = _node(changes.pop("node_uuid"), context).id
    for name, value in changes.items():
        setattr(port, name, value)
    _store(port, changes, context)


def delete(ident: str, *, context: Context) -> None:
    """Remove a port; raise PortNotFound, NodeLocked, or Conflict while a VIF is attached to it."""
    port = get(ident, context=context, lock=True)
    node = node_store.by_id(port.node_id, session=context.session)
    check_unlocked(node)
    if port.internal_info.get("tenant_vif_port_id") and not node.maintenance:
        raise Conflict(f"Port {port.uuid} has a VIF attached; detach it first.")
    context.session.delete(port)
    context.session.commit()


def _node(ident: str | None, context: Context) -> Node:
    if ident is None:
        raise Invalid("node_uuid is missing: a port belongs to a node.")
    try:
        return node_store.get(ident, session=context.session)
    except NodeNotFound as error:
        raise Invalid(f"Node {ident} could not be found.") from error


def _check_links(values: Mapping[str, Any]) -> None:
    if values.get("portgroup_uuid") is not None:
        raise Invalid(f"Port group {values['portgroup_uuid']} could not be found.")
    link = values.get("local_link_connection")
    if values.get("is_smartnic") and link and not {"port_id", "hostname"} <= link.keys():
        raise Invalid("A smart NIC needs port_id and hostname in its local_link_connection.")


def _check_state(port: Port, changes: Mapping[str, Any], node: Node, context: Context) -> None:
    state = _P(node.provision_state)
    if state is _P.INSPECTING and context.minor >= _INSPECTING_FROZEN_SINCE:
        raise WrongState(attempted="Changing a port", node=node.uuid, state=state)
    if node.maintenance:
        return
    if "address" in changes and (state is _P.ACTIVE or node.instance_uuid):
        raise WrongState(attempted=f"Changing the address of port {port.uuid}", node=node.uuid, state=state)
    if (touched := sorted(changes.keys() & set(_CONNECTIVITY))) and state not in _FREE:
        raise WrongState(attempted=f"Changing {', '.join(touched)} of a port", node=node.uuid, state=state)


def _store(port: Port, changes: Mapping[str, Any], context: Context) -> None:
    for name in ("uuid", "address", "name"):
        value = changes.get(name)
        if value is not None and ports.taken(name, value, besides=port.id, session=context.session):
            raise Duplicate(what=f"A port with {name}", ident=value)
    context.session.add(port)
    with no_duplicate("A port with address", port.address):
        context.session.commit()

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Ports: list, create, change and remove them (contract: node-fields.md, "Port")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rackwright.domain.errors import Conflict, PortNotFound
from rackwright.services import access, belongings, port_rules, portgroups
from rackwright.services.belongings import Row
from rackwright.services.context import Context, check_unlocked
from rackwright.services.port_rules import Change
from rackwright.store import port as ports
from rackwright.store.paging import Page
from rackwright.store.port import VIF, Port

_UNIQUE = ("uuid", "address", "name")


def get(ident: str, *, context: Context, lock: bool = False) -> Port:
    """Return the port with this UUID, name or MAC address; raise PortNotFound."""
    port = ports.get(ident, session=context.session, lock=lock)
    belongings.demand("baremetal:port:get", port, hidden=PortNotFound(ident=ident), context=context)
    return port


def row(port: Port, *, context: Context) -> Row:
    """Return all columns of a port, and the UUID of its node."""
    return belongings.row(port, context=context)


def listed(columns: Sequence[str], *, context: Context, filters: Mapping[str, Any], page: Page) -> list[Row]:
    """Return one page of ports; raise NotFound for an unknown node, port group or marker."""
    stored = belongings.stored("port", filters, context=context)
    if "portgroup" in stored:
        stored["portgroup_uuid"] = portgroups.get(stored.pop("portgroup"), context=context).uuid
    return ports.listed(columns, session=context.session, filters=stored, page=page)


def create(values: Mapping[str, Any], *, context: Context) -> Port:
    """Create a port and return it; raise Invalid, Conflict or children of them."""
    given = dict(values)
    ident = given.pop("node_uuid", None) or given.pop("node_ident", None)
    node = belongings.future_node(str(ident), "baremetal:port:create", context=context)
    check_unlocked(node)
    change = Change(Port(node_id=node.id or 0, address=given["address"]), node, given, context, new=True)
    port_rules.check(change)
    _keep(change)
    return change.port


def update(port: Port, values: Mapping[str, Any], *, context: Context) -> None:
    """Change fields of a port, all or none of them; raise Invalid, Conflict or children of them."""
    change = Change(port, belongings.node_of(port, context=context), dict(values), context)
    access.demand("baremetal:port:update", change.node, context=context)
    belongings.check_changeable(change.node, attempted="Changing a port", context=context)
    if "node_uuid" in change.values:
        node = belongings.future_node(change.values.pop("node_uuid"), "baremetal:port:create", context=context)
        check_unlocked(node)
        change.values["node_id"] = node.id
    port_rules.check(change)
    _keep(change)


def _keep(change: Change) -> None:
    belongings.keep(change.port, change.values, what="port", unique=_UNIQUE, taken=ports.taken, context=change.context)


def delete(ident: str, *, context: Context) -> None:
    """Remove a port; raise PortNotFound, NodeLocked, or Conflict while a VIF is attached to it."""
    port = get(ident, context=context, lock=True)
    node = belongings.node_of(port, context=context)
    access.demand("baremetal:port:delete", node, context=context)
    check_unlocked(node)
    if VIF in port.internal_info and not node.maintenance:
        raise Conflict(f"Port {port.uuid} has a VIF attached; detach it first.")
    context.session.delete(port)
    context.session.commit()

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Port groups: list, create, change and remove them (contract: node-fields.md, "Port group")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rackwright.domain.errors import Conflict, Invalid, PortgroupNotFound, WrongState
from rackwright.domain.states import ProvisionState
from rackwright.services import access, belongings
from rackwright.services.belongings import Row
from rackwright.services.context import Context, check_unlocked
from rackwright.services.port_rules import CONNECTIVITY_FREE, FREE_FIRST
from rackwright.store import port as ports
from rackwright.store.node import Node
from rackwright.store.paging import Page
from rackwright.store.port import VIF, Port
from rackwright.store.portgroup import PORTGROUPS, Portgroup

_UNIQUE = ("uuid", "name", "address")


def get(ident: str, *, context: Context, lock: bool = False) -> Portgroup:
    """Return the port group with this UUID or name; raise PortgroupNotFound."""
    group = PORTGROUPS.get(ident, session=context.session, lock=lock)
    belongings.demand("baremetal:portgroup:get", group, hidden=PortgroupNotFound(ident=ident), context=context)
    return group


def row(group: Portgroup, *, context: Context) -> Row:
    """Return all columns of a port group, and the UUID of its node."""
    return belongings.row(group, context=context)


def listed(columns: Sequence[str], *, context: Context, filters: Mapping[str, Any], page: Page) -> list[Row]:
    """Return one page of port groups; raise NodeNotFound for an unknown node, PortgroupNotFound for a marker."""
    stored = belongings.stored("portgroup", filters, context=context)
    return PORTGROUPS.listed(columns, session=context.session, filters=stored, page=page)


def create(values: Mapping[str, Any], *, context: Context) -> Portgroup:
    """Create a port group and return it; raise Invalid, Duplicate or NodeLocked."""
    given = dict(values)
    node = belongings.future_node(given.pop("node_uuid"), "baremetal:portgroup:create", context=context)
    check_unlocked(node)
    group = Portgroup(node_id=node.id or 0, mode=context.settings.default_portgroup_mode)
    _keep(group, given, context)
    return group


def update(group: Portgroup, values: Mapping[str, Any], *, context: Context) -> None:
    """Change fields of a port group, all or none of them; raise Invalid, Conflict or children of them.

    Its ports get the physical network that the group gets.
    """
    changes = dict(values)
    node = belongings.node_of(group, context=context)
    access.demand("baremetal:portgroup:update", node, context=context)
    belongings.check_changeable(node, attempted="Changing a port group", context=context)
    members = _members(group, context)
    if "node_uuid" in changes:
        changes["node_id"] = _move(group, node, members, changes.pop("node_uuid"), context)
    if changes.get("standalone_ports_supported") is False and any(each.pxe_enabled for each in members):
        raise Conflict(f"Port group {group.uuid} has ports with pxe_enabled; set that to false for them first.")
    if "physical_network" in changes:
        for each in members:
            each.physical_network = changes["physical_network"]
    _keep(group, changes, context)


def delete(ident: str, *, context: Context) -> None:
    """Remove a port group; raise PortgroupNotFound, NodeLocked, or Invalid while it has ports.

    Raise Conflict while a VIF is attached to it, unless its node is in maintenance.
    """
    group = get(ident, context=context, lock=True)
    node = belongings.node_of(group, context=context)
    access.demand("baremetal:portgroup:delete", node, context=context)
    check_unlocked(node)
    if _members(group, context):
        raise Invalid(f"Port group {group.uuid} has ports; take them out of it or remove them first.")
    if VIF in group.internal_info and not node.maintenance:
        raise Conflict(f"Port group {group.uuid} has a VIF attached; detach it first.")
    context.session.delete(group)
    context.session.commit()


def _members(group: Portgroup, context: Context) -> Sequence[Port]:
    return ports.find(session=context.session, portgroup_uuid=group.uuid)


def _move(group: Portgroup, node: Node, members: Sequence[Port], ident: str, context: Context) -> int | None:
    """Return the primary key of the node that the group shall belong to."""
    state = ProvisionState(node.provision_state)
    if not node.maintenance and state not in CONNECTIVITY_FREE:
        attempted = f"Moving port group {group.uuid}"
        raise WrongState(attempted=attempted, node=node.uuid, state=state, action=FREE_FIRST)
    if members:
        raise Invalid(f"Port group {group.uuid} has ports, so it cannot move to another node; take them out first.")
    wanted = belongings.future_node(ident, "baremetal:portgroup:create", context=context)
    check_unlocked(wanted)
    return wanted.id


def _keep(group: Portgroup, values: Mapping[str, Any], context: Context) -> None:
    belongings.keep(group, values, what="port group", unique=_UNIQUE, taken=PORTGROUPS.taken, context=context)

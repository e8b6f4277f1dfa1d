# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The rules under which fields of a port may change, one function each (contract: node-fields.md, "Port").

A rule looks at the wanted change, raises when it is not allowed, and adds what follows from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rackwright.domain.errors import Conflict, Invalid, PortgroupNotFound, WrongState
from rackwright.domain.states import ProvisionState
from rackwright.services.context import Context
from rackwright.store import port as ports
from rackwright.store.node import Node
from rackwright.store.port import VIF, Port
from rackwright.store.portgroup import PORTGROUPS, Portgroup

_P = ProvisionState
CONNECTIVITY_FREE = (_P.ENROLL, _P.INSPECTING, _P.INSPECT_WAIT, _P.MANAGEABLE)
FREE_FIRST = f"Bring it into one of the states {', '.join(CONNECTIVITY_FREE)} first, or put it into maintenance."
"""The states in which the connectivity of a node may change; in maintenance every state is one."""

_CONNECTIVITY = ("pxe_enabled", "local_link_connection", "portgroup_uuid", "physical_network")
_OF_GROUP = ("portgroup_uuid", "physical_network", "pxe_enabled", "node_id")
_GROUP_HAS_NETWORK_SINCE = 102


@dataclass(slots=True)
class Change:
    """What somebody wants to change: the port as it is, its present node, the new values, and the request."""

    port: Port
    node: Node
    values: dict[str, Any]
    context: Context
    new: bool = False

    def after(self, name: str) -> Any:
        """Return the value that a field will have."""
        return self.values.get(name, getattr(self.port, name))


Rule = Callable[[Change], None]


def check(change: Change) -> None:
    """Apply every rule; raise Invalid, Conflict or a child of them."""
    for rule in RULES:
        rule(change)


def _state(change: Change) -> None:
    node, state = change.node, _P(change.node.provision_state)
    if change.new or node.maintenance:
        return
    if "address" in change.values and (state is _P.ACTIVE or node.instance_uuid):
        attempted = f"Changing the address of port {change.port.uuid}"
        action = "Undeploy it first, or put it into maintenance."
        raise WrongState(attempted=attempted, node=node.uuid, state=state, action=action)
    if (touched := sorted(change.values.keys() & set(_CONNECTIVITY))) and state not in CONNECTIVITY_FREE:
        attempted = f"Changing {', '.join(touched)} of a port"
        raise WrongState(attempted=attempted, node=node.uuid, state=state, action=FREE_FIRST)


def _smart_nic(change: Change) -> None:
    link = change.after("local_link_connection")
    if change.after("is_smartnic") and link and not {"port_id", "hostname"} <= link.keys():
        raise Invalid("A smart NIC needs port_id and hostname in its local_link_connection.")


def _network_of_member(change: Change) -> None:
    """Leave the physical network of a member to its group, from the version in which groups have one."""
    stays = change.port.portgroup_uuid is not None and change.after("portgroup_uuid") == change.port.portgroup_uuid
    gated = change.context.minor >= _GROUP_HAS_NETWORK_SINCE
    if "physical_network" in change.values and not change.new and stays and gated:
        raise Invalid(
            f"Port {change.port.uuid} is in port group {change.port.portgroup_uuid}; "
            "change the physical_network of the group, its ports get the same."
        )


def _group(change: Change) -> None:
    uuid = change.after("portgroup_uuid")
    if uuid is None or not change.values.keys() & set(_OF_GROUP):
        return
    try:
        group = PORTGROUPS.get(uuid, session=change.context.session, lock=True)
    except PortgroupNotFound as error:
        raise Invalid(error.message) from error
    if group.node_id != change.after("node_id"):
        raise Invalid(f"Port group {uuid} belongs to another node than the port.")
    if not group.standalone_ports_supported and (change.after("pxe_enabled") or VIF in change.port.internal_info):
        raise Conflict(
            f"Port group {uuid} does not support standalone ports, so its ports can neither have pxe_enabled "
            "nor a VIF of their own; set pxe_enabled to false, or standalone_ports_supported of the group to true."
        )
    _one_network(change, group)


def _one_network(change: Change, group: Portgroup) -> None:
    """Demand that all ports of a group are in one physical network; the group's own is copied to a new member."""
    members = ports.find(session=change.context.session, portgroup_uuid=group.uuid)
    shared = {each.physical_network for each in members if each.id != change.port.id}
    if group.physical_network is not None:
        shared = {group.physical_network}
        if change.after("physical_network") is None:
            change.values["physical_network"] = group.physical_network
    wanted = change.after("physical_network")
    if shared and shared != {wanted}:
        found = ", ".join(sorted(str(each) for each in shared))
        raise Conflict(f"Port group {group.uuid} is in physical network {found}, the port would be in {wanted}.")


RULES: tuple[Rule, ...] = (_state, _smart_nic, _network_of_member, _group)
"""Every rule, in the order in which they are applied."""

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Virtual interfaces (VIFs) of nodes (contract: engine.md section 10, network interfaces).

The network interface noop takes every VIF for attached and keeps none. With any other, a VIF stands in the
``internal_info`` of the port group or port that carries it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rackwright.domain.errors import Conflict, Invalid
from rackwright.domain.verbs import Interface
from rackwright.services import access, nodes, validate
from rackwright.services.context import Context, check_unlocked
from rackwright.store import port as ports
from rackwright.store.node import Node
from rackwright.store.port import VIF, Port
from rackwright.store.portgroup import PORTGROUPS, Portgroup

Carrier = Port | Portgroup

_FORGETFUL = "noop"


@dataclass(frozen=True, slots=True)
class Carriers:
    """The port groups and ports of one node, which carry its VIFs."""

    groups: Sequence[Portgroup]
    ports: Sequence[Port]

    def __iter__(self) -> Iterator[Carrier]:
        """Return all of them, port groups first."""
        yield from self.groups
        yield from self.ports

    def free(self) -> Iterator[Carrier]:
        """Return those that can take a VIF, best first: port groups, ports that boot from the network, other ports.

        A group and its ports exclude each other.
        """
        taken = {each.portgroup_uuid for each in self.ports if VIF in each.internal_info}
        filled = {each.portgroup_uuid for each in self.ports} - taken
        yield from (each for each in self.groups if VIF not in each.internal_info and each.uuid in filled)
        alone = {each.uuid for each in self.groups if each.standalone_ports_supported and VIF not in each.internal_info}
        yield from sorted(
            (each for each in self.ports if VIF not in each.internal_info and each.portgroup_uuid in {None, *alone}),
            key=lambda port: not port.pxe_enabled,
        )


def of(ident: str, *, context: Context) -> list[dict[str, str]]:
    """Return the VIFs that are attached to a node; raise NodeNotFound."""
    node = nodes.get(ident, context=context)
    access.demand("baremetal:node:vif:list", node, context=context)
    return [{"id": each.internal_info[VIF]} for each in _attached(_carriers(node, context))]


def attach(
    ident: str, vif: str, *, port_uuid: str | None = None, portgroup_uuid: str | None = None, context: Context
) -> None:
    """Attach a VIF to the port or port group that is named, or else to the best one that is free.

    Raise NodeNotFound, NodeLocked, Conflict for a VIF that is attached already, or Invalid: no network interface, or
    nothing free.
    """
    node = _checked(ident, "baremetal:node:vif:attach", "Attaching a VIF", context)
    if node.network_interface == _FORGETFUL:
        return
    carriers = _carriers(node, context)
    if any(each.internal_info[VIF] == vif for each in _attached(carriers)):
        raise Conflict(f"VIF {vif} is attached to node {node.uuid} already.")
    wanted = port_uuid or portgroup_uuid
    chosen = next((each for each in carriers.free() if wanted in (None, each.uuid)), None)
    if chosen is None:
        what = "no port and no port group" if wanted is None else f"no port or port group {wanted}"
        raise Invalid(f"VIF {vif} cannot be attached: node {node.uuid} has {what} that is free to carry it.")
    _write(chosen, vif, context)


def detach(ident: str, vif: str, *, context: Context) -> None:
    """Detach a VIF; raise NodeNotFound, NodeLocked, or Invalid when it is not attached."""
    node = _checked(ident, "baremetal:node:vif:detach", "Detaching a VIF", context)
    if node.network_interface == _FORGETFUL:
        return
    carrier = next((each for each in _attached(_carriers(node, context)) if each.internal_info[VIF] == vif), None)
    if carrier is None:
        raise Invalid(f"VIF {vif} is not attached to node {node.uuid}.")
    _write(carrier, None, context)


def _checked(ident: str, rule: str, attempted: str, context: Context) -> Node:
    node = nodes.get(ident, context=context, lock=True)
    access.demand(rule, node, context=context)
    check_unlocked(node)
    validate.check(node, Interface.NETWORK, attempted=attempted, context=context)
    return node


def _carriers(node: Node, context: Context) -> Carriers:
    groups = PORTGROUPS.find(session=context.session, node_id=node.id)
    return Carriers(groups, ports.of_node(node.id or 0, session=context.session))


def _attached(carriers: Iterable[Carrier]) -> list[Carrier]:
    return [each for each in carriers if VIF in each.internal_info]


def _write(carrier: Carrier, vif: str | None, context: Context) -> None:
    kept = {name: value for name, value in carrier.internal_info.items() if name != VIF}
    carrier.internal_info = kept if vif is None else {**kept, VIF: vif}
    context.session.add(carrier)
    context.session.commit()

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The port table: the network interfaces of the nodes, known by their MAC addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, bindparam, func, select
from sqlmodel import Field, Session, SQLModel, col

from rackwright.domain.errors import PortNotFound
from rackwright.store.columns import created, identity, json_object, key, owner_node, text, updated
from rackwright.store.node import FILTERS as NODE_FILTERS
from rackwright.store.node import Node
from rackwright.store.source import Filters, Source, equal

VIF = "tenant_vif_port_id"
"""The key of ``internal_info`` under which a port or port group keeps the VIF that is attached to it."""


class Port(SQLModel, table=True):
    """One network interface of a node."""

    id: int | None = key()
    uuid: str = identity()
    created_at: datetime = created()
    updated_at: datetime | None = updated()
    node_id: int = owner_node()
    address: str = Field(max_length=17, unique=True)  # lower case
    name: str | None = Field(default=None, unique=True)
    portgroup_uuid: str | None = Field(default=None, max_length=36)
    pxe_enabled: bool = True
    local_link_connection: dict[str, Any] = json_object()
    physical_network: str | None = Field(default=None, max_length=64)
    is_smartnic: bool = False
    available_for_dynamic_portgroup: bool = True
    internal_info: dict[str, Any] = json_object()
    extra: dict[str, Any] = json_object()
    description: str | None = text()
    vendor: str | None = Field(default=None, max_length=32)
    category: str | None = Field(default=None, max_length=80)


def _described(part: str) -> ColumnElement[bool]:
    return func.lower(col(Port.description)).contains(part.lower(), autoescape=True)


FILTERS: Filters = {
    **equal(Port, "node_id", "address", "portgroup_uuid"),
    "visible_to": NODE_FILTERS["visible_to"],
    "addresses": lambda addresses: col(Port.address).in_(addresses),
    "node_ids": lambda ids: col(Port.node_id).in_(ids),
    "shard": lambda names: col(Node.shard).in_(names),
    "conductor_groups": lambda names: col(Node.conductor_group).in_(names),
    "description_contains": _described,
}

_SOURCE = Source(Port, PortNotFound, FILTERS, joined=Node, borrowed={"node_uuid": Node.uuid})
find, listed, taken = _SOURCE.find, _SOURCE.listed, _SOURCE.taken


def get(ident: str, *, session: Session, lock: bool = False) -> Port:
    """Return the port with this UUID, name or MAC address; raise PortNotFound."""
    known = _SOURCE.known_as(ident) | (col(Port.address) == ident.lower())
    return _SOURCE.first(known, ident, session=session, lock=lock)


def of_node(node_id: int, *, session: Session) -> Sequence[Port]:
    """Return the ports of a node, in order of their creation."""
    return find(session=session, node_id=node_id)


def of_nodes(node_ids: Sequence[int], *, session: Session) -> Mapping[int, Sequence[Port]]:
    """Return the ports of nodes by the node's primary key, each node's in order of their creation."""
    found: dict[int, list[Port]] = {node_id: [] for node_id in node_ids}
    for port in find(session=session, node_ids=list(node_ids)):
        found[port.node_id].append(port)
    return found


_OWNERS = (
    select(col(Port.address), col(Port.node_id))
    .where(col(Port.address).in_(bindparam("addresses", expanding=True)))
    .order_by(col(Port.id))
)


def owners(addresses: Sequence[str], *, session: Session) -> Sequence[tuple[str, int]]:
    """Return those of the addresses that ports have, each with the primary key of the port's node."""
    return [(row[0], row[1]) for row in session.connection().execute(_OWNERS, {"addresses": list(addresses)})]

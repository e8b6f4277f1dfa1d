# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The port table: the network interfaces of the nodes, known by their MAC addresses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, func
from sqlmodel import Field, Session, SQLModel, col, select

from rackwright.domain.errors import PortNotFound
from rackwright.store.columns import created, identity, json_object, key, owner_node, text, updated
from rackwright.store.node import Node
from rackwright.store.paging import Page, Source


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


FILTERS: Mapping[str, Callable[[Any], ColumnElement[bool]]] = {
    "node_id": lambda node_id: col(Port.node_id) == node_id,
    "address": lambda address: col(Port.address) == address,
    "addresses": lambda addresses: col(Port.address).in_(addresses),
    "portgroup_uuid": lambda uuid: col(Port.portgroup_uuid) == uuid,
    "shard": lambda names: col(Node.shard).in_(names),
    "conductor_groups": lambda names: col(Node.conductor_group).in_(names),
    "description_contains": _described,
}
"""Each filter of ``listed`` and ``find``: its name and the condition that its value makes."""

_SOURCE = Source(Port, PortNotFound, joined=Node)


def get(ident: str, *, session: Session, lock: bool = False) -> Port:
    """Return the port with this UUID, name or MAC address; raise PortNotFound."""
    try:
        condition = col(Port.uuid) == str(UUID(ident))
    except ValueError:
        condition = (col(Port.name) == ident) | (col(Port.address) == ident.lower())
    statement = select(Port).where(condition)
    found = session.exec(statement.with_for_update() if lock else statement).first()
    if found is None:
        raise PortNotFound(ident=ident)
    return found


def find(*, session: Session, **filters: Any) -> Sequence[Port]:
    """Return all ports that meet the filters, in order of their creation."""
    conditions = [FILTERS[name](value) for name, value in filters.items()]
    return session.exec(select(Port).join(Node).where(*conditions).order_by(col(Port.id))).all()


def taken(field: str, value: str, *, session: Session, besides: int | None = None) -> bool:
    """Return whether a port other than ``besides`` (its primary key) has this value in a field."""
    others = select(Port.id).where(col(getattr(Port, field)) == value)
    if besides is not None:
        others = others.where(col(Port.id) != besides)
    return session.exec(others).first() is not None


def of_node(node_id: int, *, session: Session) -> Sequence[Port]:
    """Return the ports of a node, in order of their creation."""
    return find(session=session, node_id=node_id)


def listed(columns: Sequence[str], *, session: Session, filters: Mapping[str, Any], page: Page) -> list[dict[str, Any]]:
    """Return one page of rows with the named columns only; ``node_uuid`` is one of them, taken from the node."""
    conditions = [FILTERS[name](value) for name, value in filters.items()]
    chosen = [
        col(Node.uuid).label("node_uuid") if name == "node_uuid" else col(getattr(Port, name)) for name in columns
    ]
    return _SOURCE.rows(chosen, conditions, session=session, page=page)

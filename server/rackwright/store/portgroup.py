# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The port group table: ports of one node that are bonded together."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlmodel import Field, SQLModel, col

from rackwright.domain.errors import PortgroupNotFound
from rackwright.store.columns import created, identity, json_object, key, owner_node, updated
from rackwright.store.node import FILTERS as NODE_FILTERS
from rackwright.store.node import Node
from rackwright.store.source import Source, equal


class Portgroup(SQLModel, table=True):
    """One port group of a node."""

    id: int | None = key()
    uuid: str = identity()
    created_at: datetime = created()
    updated_at: datetime | None = updated()
    node_id: int = owner_node()
    name: str | None = Field(default=None, unique=True)
    address: str | None = Field(default=None, max_length=17, unique=True)  # lower case
    mode: str
    properties: dict[str, Any] = json_object()
    standalone_ports_supported: bool = True
    dynamic_portgroup: bool = False
    physical_network: str | None = Field(default=None, max_length=64)
    category: str | None = Field(default=None, max_length=80)
    internal_info: dict[str, Any] = json_object()
    extra: dict[str, Any] = json_object()


PORTGROUPS = Source(
    Portgroup,
    PortgroupNotFound,
    {
        **equal(Portgroup, "node_id", "address"),
        "visible_to": NODE_FILTERS["visible_to"],
        "shard": lambda names: col(Node.shard).in_(names),
        "conductor_groups": lambda names: col(Node.conductor_group).in_(names),
    },
    joined=Node,
    borrowed={"node_uuid": Node.uuid},
)

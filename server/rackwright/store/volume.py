# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The tables of volume connectors and targets: how a node reaches remote storage, and what it finds there."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import UniqueConstraint
from sqlmodel import Field, SQLModel

from rackwright.domain.errors import VolumeConnectorNotFound, VolumeTargetNotFound
from rackwright.store.columns import created, identity, json_object, key, owner_node, updated
from rackwright.store.node import FILTERS as NODE_FILTERS
from rackwright.store.node import Node
from rackwright.store.source import Source, equal


class VolumeConnector(SQLModel, table=True):
    """One initiator of a node."""

    __tablename__ = "volume_connector"
    __table_args__ = (UniqueConstraint("type", "connector_id", name="one_connector"),)

    id: int | None = key()
    uuid: str = identity()
    created_at: datetime = created()
    updated_at: datetime | None = updated()
    node_id: int = owner_node()
    type: str = Field(max_length=32)
    connector_id: str = Field(max_length=255)
    extra: dict[str, Any] = json_object()


class VolumeTarget(SQLModel, table=True):
    """One volume of a node; the secrets of its properties are sealed."""

    __tablename__ = "volume_target"
    __table_args__ = (UniqueConstraint("node_id", "boot_index", name="one_boot_index"),)

    id: int | None = key()
    uuid: str = identity()
    created_at: datetime = created()
    updated_at: datetime | None = updated()
    node_id: int = owner_node()
    volume_type: str = Field(max_length=64)
    volume_id: str = Field(max_length=36)
    boot_index: int
    properties: dict[str, Any] = json_object()
    extra: dict[str, Any] = json_object()


VOLUME_CONNECTORS = Source(
    VolumeConnector,
    VolumeConnectorNotFound,
    {**equal(VolumeConnector, "node_id", "type", "connector_id"), "visible_to": NODE_FILTERS["visible_to"]},
    joined=Node,
    borrowed={"node_uuid": Node.uuid},
    named=False,
)
VOLUME_TARGETS = Source(
    VolumeTarget,
    VolumeTargetNotFound,
    {**equal(VolumeTarget, "node_id", "boot_index"), "visible_to": NODE_FILTERS["visible_to"]},
    joined=Node,
    borrowed={"node_uuid": Node.uuid},
    named=False,
)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The tables of BIOS settings and firmware components, as last read from the BMC."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import JSON, UniqueConstraint
from sqlmodel import Field, SQLModel

from rackwright.store.columns import created, key, owner_node, text, updated


class BiosSetting(SQLModel, table=True):
    """One BIOS setting of a node, and what its attribute registry says about it."""

    __tablename__ = "bios_setting"
    __table_args__ = (UniqueConstraint("node_id", "name", name="one_setting"),)

    id: int | None = key()
    created_at: datetime = created()
    updated_at: datetime | None = updated()
    node_id: int = owner_node()
    name: str
    value: str | None = text()
    attribute_type: str | None = None
    allowable_values: list[str] | None = Field(default=None, sa_type=JSON)
    lower_bound: int | None = None
    upper_bound: int | None = None
    min_length: int | None = None
    max_length: int | None = None
    read_only: bool | None = None
    reset_required: bool | None = None
    unique: bool | None = None


class FirmwareComponent(SQLModel, table=True):
    """One component of a node that carries firmware."""

    __tablename__ = "firmware_component"
    __table_args__ = (UniqueConstraint("node_id", "component", name="one_component"),)

    id: int | None = key()
    created_at: datetime = created()
    updated_at: datetime | None = updated()
    node_id: int = owner_node()
    component: str
    initial_version: str | None = None
    current_version: str | None = None
    last_version_flashed: str | None = None
    vendor: str | None = None
    model: str | None = None
    serial_number: str | None = None

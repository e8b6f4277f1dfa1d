# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The tables of BIOS settings and firmware components, as last read from the BMC."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, UniqueConstraint
from sqlmodel import Field, Session, SQLModel, col, select

from rackwright.domain.errors import BiosSettingNotFound, Invalid
from rackwright.store.columns import created, key, owner_node, text, updated
from rackwright.store.node import Node


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


_OWN = ("id", "created_at", "updated_at", "node_id")
_REGISTRY = tuple(name for name in BiosSetting.model_fields if name not in (*_OWN, "name", "value"))
_VERSIONS = tuple(name for name in FirmwareComponent.model_fields if name not in (*_OWN, "component"))


def settings_of(node_id: int, *, session: Session) -> Sequence[BiosSetting]:
    """Return the BIOS settings of a node, by name."""
    statement = select(BiosSetting).where(col(BiosSetting.node_id) == node_id)
    return session.exec(statement.order_by(col(BiosSetting.name))).all()


def setting(node: Node, name: str, *, session: Session) -> BiosSetting:
    """Return one BIOS setting of a node; raise BiosSettingNotFound."""
    wanted = (col(BiosSetting.node_id) == node.id, col(BiosSetting.name) == name)
    found = session.exec(select(BiosSetting).where(*wanted)).first()
    if found is None:
        raise BiosSettingNotFound(ident=name, node=node.name or node.uuid)
    return found


def replace_settings(node_id: int, told: object, *, session: Session) -> None:
    """Make the stored BIOS settings of a node equal to those told: create, change and remove rows.

    ``told`` is a list of objects with ``name``, ``value`` and, where it is known, what its registry says.
    Raise Invalid.
    """
    wanted = _by_name(told, "name")
    stored = {each.name: each for each in settings_of(node_id, session=session)}
    for name in stored.keys() - wanted.keys():
        session.delete(stored[name])
    for name, each in wanted.items():
        row = stored.get(name) or BiosSetting(node_id=node_id, name=name)
        value = each.get("value")
        row.value = None if value is None else str(value)
        _fill(row, each, _REGISTRY)
        session.add(row)


def components_of(node_id: int, *, session: Session) -> Sequence[FirmwareComponent]:
    """Return the firmware components of a node, by name."""
    statement = select(FirmwareComponent).where(col(FirmwareComponent.node_id) == node_id)
    return session.exec(statement.order_by(col(FirmwareComponent.component))).all()


def keep_components(node_id: int, told: object, *, session: Session) -> None:
    """Store what is told of firmware components; the version that a component was first seen with stays.

    ``told`` is a list of objects with ``component`` and the columns to change. Raise Invalid.
    """
    stored = {each.component: each for each in components_of(node_id, session=session)}
    for name, each in _by_name(told, "component").items():
        row = stored.get(name) or FirmwareComponent(node_id=node_id, component=name)
        first = row.initial_version or each.get("initial_version") or each.get("current_version")
        _fill(row, each, _VERSIONS)
        row.initial_version = first
        session.add(row)


def _by_name(told: object, key_name: str) -> dict[str, Mapping[str, Any]]:
    try:
        return {str(each[key_name]): each for each in told}  # type: ignore[attr-defined]  # that is what is tried
    except (TypeError, KeyError) as error:
        raise Invalid(f"A step has to tell a list of objects with {key_name}, but told something else.") from error


def _fill(row: SQLModel, told: Mapping[str, Any], names: Iterable[str]) -> None:
    for name in names:
        if name in told:
            setattr(row, name, told[name])

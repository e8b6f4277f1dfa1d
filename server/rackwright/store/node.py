# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The node table and its queries; what the fields mean stands in the contract, node-fields.md."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Index, false, func, or_, true, update
from sqlmodel import Field, Session, SQLModel, col, select

from rackwright.domain.errors import NodeLocked, NodeNotFound
from rackwright.store.columns import created, identity, json_list, json_object, key, text, time, updated
from rackwright.store.source import Condition, Filters, Source, equal

SEALED_FIELDS = ("driver_info", "driver_internal_info", "instance_info")
"""The fields whose secrets are sealed in the row (see ``sealing``)."""


class Node(SQLModel, table=True):
    """One machine: what it is, the state it is in and who holds it."""

    # Counting reads this index and no rows, which are long.
    __table_args__ = (Index("ix_node_provision_state_maintenance", "provision_state", "maintenance"),)

    id: int | None = key()
    uuid: str = identity()
    created_at: datetime = created()
    updated_at: datetime | None = updated()
    name: str | None = Field(default=None, unique=True)

    driver: str
    driver_info: dict[str, Any] = json_object()
    driver_internal_info: dict[str, Any] = json_object()
    properties: dict[str, Any] = json_object()
    extra: dict[str, Any] = json_object()
    network_data: dict[str, Any] = json_object()
    resource_class: str | None = Field(default=None, max_length=80, index=True)
    traits: list[str] = json_list()
    description: str | None = text()
    owner: str | None = None
    lessee: str | None = None
    shard: str | None = Field(default=None, index=True)
    parent_node: str | None = Field(default=None, max_length=36, index=True)
    chassis_uuid: str | None = Field(default=None, max_length=36)
    conductor_group: str = ""

    instance_uuid: str | None = Field(default=None, max_length=36, unique=True)
    instance_name: str | None = None
    instance_info: dict[str, Any] = json_object()
    allocation_uuid: str | None = Field(default=None, max_length=36)

    provision_state: str = Field(default="enroll", index=True)
    target_provision_state: str | None = None
    provision_updated_at: datetime | None = time()
    power_state: str | None = None
    target_power_state: str | None = None
    last_error: str | None = text()
    reservation: str | None = Field(default=None, index=True)
    inspection_started_at: datetime | None = time()
    inspection_finished_at: datetime | None = time()
    clean_step: dict[str, Any] = json_object()
    deploy_step: dict[str, Any] = json_object()
    service_step: dict[str, Any] = json_object()
    raid_config: dict[str, Any] = json_object()
    target_raid_config: dict[str, Any] = json_object()
    boot_mode: str | None = None
    secure_boot: bool | None = None
    health: str | None = None
    console_enabled: bool = False

    maintenance: bool = False
    maintenance_reason: str | None = text()
    fault: str | None = None
    automated_clean: bool | None = None
    protected: bool = False
    protected_reason: str | None = text()
    retired: bool = False
    retired_reason: str | None = text()
    disable_power_off: bool = False

    bios_interface: str | None = None
    boot_interface: str | None = None
    console_interface: str | None = None
    deploy_interface: str | None = None
    firmware_interface: str | None = None
    inspect_interface: str | None = None
    management_interface: str | None = None
    network_interface: str | None = None
    power_interface: str | None = None
    raid_interface: str | None = None
    rescue_interface: str | None = None
    storage_interface: str | None = None
    vendor_interface: str | None = None


def _set(name: str) -> Condition:
    column = col(getattr(Node, name))
    return lambda wanted: column.is_not(None) if wanted else column.is_(None)


def _of_project(project: str) -> ColumnElement[bool]:
    return or_(col(Node.owner) == project, col(Node.lessee) == project)


def _described(part: str) -> ColumnElement[bool]:
    return func.lower(col(Node.description)).contains(part.lower(), autoescape=True)


def _with_children(wanted: bool) -> ColumnElement[bool]:
    return true() if wanted else col(Node.parent_node).is_(None)


_PLAIN = (
    *("chassis_uuid", "conductor_group", "driver", "fault", "instance_name", "instance_uuid", "lessee", "maintenance"),
    *("owner", "parent_node", "provision_state", "reservation", "resource_class", "retired"),
)

FILTERS: Filters = {
    **equal(Node, *_PLAIN),
    "associated": _set("instance_uuid"),
    "sharded": _set("shard"),
    "shard": lambda names: col(Node.shard).in_(names),
    "project": _of_project,
    "visible_to": _of_project,
    "description_contains": _described,
    "include_children": _with_children,
    "drivers": lambda names: col(Node.driver).in_(names) if names else false(),
    "uuids": lambda uuids: col(Node.uuid).in_(uuids),
}

_SOURCE = Source(Node, NodeNotFound, FILTERS)
get, find, listed, taken, known_as = _SOURCE.get, _SOURCE.find, _SOURCE.listed, _SOURCE.taken, _SOURCE.known_as


def by_id(node_id: int, *, session: Session) -> Node:
    """Return the node with this primary key; raise NodeNotFound."""
    found = session.get(Node, node_id)
    if found is None:
        raise NodeNotFound(ident=node_id)
    return found


def reserve(node: Node, by: str, *, session: Session) -> None:
    """Give the node's lock to ``by``; raise NodeLocked when somebody, also ``by`` itself, holds it."""
    session.flush()
    free = update(Node).where(col(Node.id) == node.id, col(Node.reservation).is_(None)).values(reservation=by)
    taken = session.connection().execute(free).rowcount
    session.refresh(node, ["reservation", "updated_at"])
    if not taken:
        raise NodeLocked(node=node.name or node.uuid, host=node.reservation)


def release(node: Node, *, session: Session) -> None:
    """Give the node's lock back, whoever holds it."""
    node.reservation = None
    session.add(node)


def shard_counts(*, session: Session, visible_to: str | None = None) -> Sequence[tuple[str | None, int]]:
    """Return each shard with the number of its nodes, those of one project or all; None: nodes without a shard."""
    counted = select(Node.shard, func.count()).group_by(col(Node.shard)).order_by(col(Node.shard))
    return session.exec(counted if visible_to is None else counted.where(_of_project(visible_to))).all()

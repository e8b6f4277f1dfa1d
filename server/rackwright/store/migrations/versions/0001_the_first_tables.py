# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Make the first tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlmodel.sql.sqltypes import AutoString

from rackwright.store.columns import UtcDateTime

revision = "0001"
down_revision = None

_LENGTHS = {
    "uuid": 36, "parent_node": 36, "chassis_uuid": 36, "instance_uuid": 36, "allocation_uuid": 36, "portgroup_uuid": 36,
    "address": 17, "resource_class": 80, "category": 80, "physical_network": 64, "vendor": 32,
}  # fmt: skip
_TABLES = ("conductor", "node_history", "node_inventory", "operation", "port", "node")


def _columns(kind: Any, names: str, *, nullable: bool = False) -> Iterator[sa.Column[Any]]:
    for name in names.split():
        exact = AutoString(length=_LENGTHS.get(name)) if kind is AutoString else kind()
        yield sa.Column(name, exact, nullable=nullable)


def _key() -> sa.Column[Any]:
    return sa.Column("id", sa.Integer(), primary_key=True)


def _node_id() -> sa.Column[Any]:
    return sa.Column("node_id", sa.Integer(), sa.ForeignKey("node.id", ondelete="CASCADE"), nullable=False)


def _index(table: str, *columns: str) -> None:
    for column in columns:
        op.create_index(f"ix_{table}_{column}", table, [column])


def upgrade() -> None:
    """Make the change."""
    _make_conductor()
    _make_node()
    _make_port()
    _make_inventory()
    _make_history()
    _make_operation()


def downgrade() -> None:
    """Take the change back."""
    for table in _TABLES:
        op.drop_table(table)


def _make_conductor() -> None:
    op.create_table(
        "conductor",
        _key(),
        *_columns(AutoString, "hostname conductor_group"),
        *_columns(sa.JSON, "drivers"),
        *_columns(sa.Boolean, "online"),
        *_columns(UtcDateTime, "created_at updated_at"),
        sa.UniqueConstraint("hostname"),
    )


def _make_node() -> None:
    op.create_table(
        "node",
        _key(),
        *_columns(AutoString, "uuid driver conductor_group provision_state"),
        *_columns(
            sa.JSON,
            "driver_info driver_internal_info properties extra network_data traits instance_info clean_step"
            " deploy_step service_step raid_config target_raid_config",
        ),
        *_columns(sa.Boolean, "console_enabled maintenance protected retired disable_power_off"),
        *_columns(sa.Boolean, "secure_boot automated_clean", nullable=True),
        *_columns(UtcDateTime, "created_at"),
        *_columns(
            UtcDateTime,
            "updated_at provision_updated_at inspection_started_at inspection_finished_at",
            nullable=True,
        ),
        *_columns(sa.Text, "description last_error maintenance_reason protected_reason retired_reason", nullable=True),
        *_columns(
            AutoString,
            "name resource_class owner lessee shard parent_node chassis_uuid instance_uuid instance_name"
            " allocation_uuid target_provision_state power_state target_power_state reservation boot_mode health fault",
            nullable=True,
        ),
        *_columns(
            AutoString,
            "bios_interface boot_interface console_interface deploy_interface firmware_interface inspect_interface"
            " management_interface network_interface power_interface raid_interface rescue_interface"
            " storage_interface vendor_interface",
            nullable=True,
        ),
        *(sa.UniqueConstraint(name) for name in ("uuid", "name", "instance_uuid")),
    )
    _index("node", "parent_node", "provision_state", "reservation", "resource_class", "shard")


def _make_port() -> None:
    op.create_table(
        "port",
        _key(),
        _node_id(),
        *_columns(AutoString, "uuid address"),
        *_columns(AutoString, "name portgroup_uuid physical_network vendor category", nullable=True),
        *_columns(sa.Text, "description", nullable=True),
        *_columns(sa.Boolean, "pxe_enabled is_smartnic available_for_dynamic_portgroup"),
        *_columns(sa.JSON, "local_link_connection internal_info extra"),
        *_columns(UtcDateTime, "created_at"),
        *_columns(UtcDateTime, "updated_at", nullable=True),
        *(sa.UniqueConstraint(name) for name in ("uuid", "address", "name")),
    )
    _index("port", "node_id")


def _make_inventory() -> None:
    op.create_table(
        "node_inventory",
        _key(),
        _node_id(),
        *_columns(sa.JSON, "inventory plugin_data"),
        *_columns(UtcDateTime, "created_at"),
        *_columns(UtcDateTime, "updated_at", nullable=True),
        sa.UniqueConstraint("node_id"),
    )


def _make_history() -> None:
    op.create_table(
        "node_history",
        _key(),
        _node_id(),
        *_columns(AutoString, "uuid severity event_type"),
        *_columns(AutoString, "conductor user project state target_provision_state", nullable=True),
        *_columns(sa.Text, "event", nullable=True),
        *_columns(sa.Integer, "duration_seconds", nullable=True),
        *_columns(UtcDateTime, "created_at"),
        sa.UniqueConstraint("uuid"),
    )
    _index("node_history", "node_id")


def _make_operation() -> None:
    op.create_table(
        "operation",
        _key(),
        _node_id(),
        *_columns(AutoString, "uuid phase status"),
        *_columns(AutoString, "verb waits_for run_id user", nullable=True),
        *_columns(sa.JSON, "request steps facts timeline"),
        *_columns(sa.Integer, "position attempts"),
        *_columns(sa.Boolean, "alone abort_requested"),
        *_columns(sa.Text, "error", nullable=True),
        *_columns(UtcDateTime, "started_at updated_at"),
        *_columns(UtcDateTime, "wake_at deadline_at claimed_at finished_at", nullable=True),
        sa.Column("unfinished", sa.Integer(), sa.Computed("CASE WHEN finished_at IS NULL THEN 1 END", persisted=True)),
        sa.UniqueConstraint("node_id", "unfinished", name="one_unfinished_operation"),
        sa.UniqueConstraint("uuid"),
    )
    _index("operation", "node_id", "run_id", "status")

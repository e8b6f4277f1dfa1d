# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Make the tables of the whole API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlmodel.sql.sqltypes import AutoString

from rackwright.store.columns import UtcDateTime

revision = "0002"
down_revision = "0001"

_LENGTHS = {
    "uuid": 36, "node_uuid": 36, "address": 17, "physical_network": 64, "category": 80, "resource_class": 80,
    "type": 32, "connector_id": 255, "volume_type": 64, "volume_id": 36,
}  # fmt: skip
_TABLES = (
    *("portgroup", "chassis", "allocation", "deploy_template", "runbook", "inspection_rule"),
    *("volume_connector", "volume_target", "bios_setting", "firmware_component"),
)


def _columns(kind: Any, names: str, *, nullable: bool = False, length: int | None = None) -> Iterator[sa.Column[Any]]:
    for name in names.split():
        exact = AutoString(length=length or _LENGTHS.get(name)) if kind is AutoString else kind()
        yield sa.Column(name, exact, nullable=nullable)


def _table(name: str, *columns: Any, node: bool = False, uuid: bool = True) -> None:
    identity = (*_columns(AutoString, "uuid"), sa.UniqueConstraint("uuid")) if uuid else ()
    owner = sa.Column("node_id", sa.Integer(), sa.ForeignKey("node.id", ondelete="CASCADE"), nullable=False)
    op.create_table(
        name,
        sa.Column("id", sa.Integer(), primary_key=True),
        *identity,
        *_columns(UtcDateTime, "created_at"),
        *_columns(UtcDateTime, "updated_at", nullable=True),
        *((owner,) if node else ()),
        *columns,
    )
    if node:
        op.create_index(f"ix_{name}_node_id", name, ["node_id"])


def upgrade() -> None:
    """Make the change."""
    op.add_column("operation", *_columns(AutoString, "project", nullable=True))
    _make_groups()
    _make_allocation()
    _make_step_lists()
    _make_inspection_rule()
    _make_volumes()
    _make_hardware()


def downgrade() -> None:
    """Take the change back."""
    op.drop_column("operation", "project")
    for table in _TABLES:
        op.drop_table(table)


def _make_groups() -> None:
    _table(
        "portgroup",
        *_columns(AutoString, "name address physical_network category", nullable=True),
        *_columns(AutoString, "mode"),
        *_columns(sa.Boolean, "standalone_ports_supported dynamic_portgroup"),
        *_columns(sa.JSON, "properties internal_info extra"),
        *(sa.UniqueConstraint(name) for name in ("name", "address")),
        node=True,
    )
    _table(
        "chassis",
        *_columns(AutoString, "description", nullable=True, length=255),
        *_columns(sa.JSON, "extra"),
    )


def _make_allocation() -> None:
    _table(
        "allocation",
        *_columns(AutoString, "name owner resource_class node_uuid", nullable=True),
        *_columns(AutoString, "state"),
        *_columns(sa.JSON, "traits candidate_nodes extra"),
        *_columns(sa.Text, "last_error", nullable=True),
        sa.UniqueConstraint("name"),
    )
    for column in ("node_uuid", "state"):
        op.create_index(f"ix_allocation_{column}", "allocation", [column])


def _make_step_lists() -> None:
    _table(
        "deploy_template", *_columns(AutoString, "name"), *_columns(sa.JSON, "steps extra"), sa.UniqueConstraint("name")
    )
    _table(
        "runbook",
        *_columns(AutoString, "name"),
        *_columns(AutoString, "owner", nullable=True),
        *_columns(AutoString, "description", nullable=True, length=255),
        *_columns(sa.Boolean, "public disable_ramdisk"),
        *_columns(sa.JSON, "traits steps extra"),
        sa.UniqueConstraint("name"),
    )


def _make_inspection_rule() -> None:
    _table(
        "inspection_rule",
        *_columns(AutoString, "description", nullable=True, length=255),
        *_columns(sa.Integer, "priority"),
        *_columns(sa.Boolean, "sensitive"),
        *_columns(AutoString, "phase"),
        *_columns(sa.JSON, "conditions actions"),
    )


def _make_volumes() -> None:
    _table(
        "volume_connector",
        *_columns(AutoString, "type connector_id"),
        *_columns(sa.JSON, "extra"),
        sa.UniqueConstraint("type", "connector_id", name="one_connector"),
        node=True,
    )
    _table(
        "volume_target",
        *_columns(AutoString, "volume_type volume_id"),
        *_columns(sa.Integer, "boot_index"),
        *_columns(sa.JSON, "properties extra"),
        sa.UniqueConstraint("node_id", "boot_index", name="one_boot_index"),
        node=True,
    )


def _make_hardware() -> None:
    _table(
        "bios_setting",
        *_columns(AutoString, "name"),
        *_columns(sa.Text, "value", nullable=True),
        *_columns(AutoString, "attribute_type", nullable=True),
        *_columns(sa.JSON, "allowable_values", nullable=True),
        *_columns(sa.Integer, "lower_bound upper_bound min_length max_length", nullable=True),
        *_columns(sa.Boolean, "read_only reset_required unique", nullable=True),
        sa.UniqueConstraint("node_id", "name", name="one_setting"),
        node=True,
        uuid=False,
    )
    _table(
        "firmware_component",
        *_columns(AutoString, "component"),
        *_columns(
            AutoString,
            "initial_version current_version last_version_flashed vendor model serial_number",
            nullable=True,
        ),
        sa.UniqueConstraint("node_id", "component", name="one_component"),
        node=True,
        uuid=False,
    )

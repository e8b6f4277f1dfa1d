# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Keep the calls of methods of drivers until they are answered."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlmodel.sql.sqltypes import AutoString

from rackwright.store.columns import UtcDateTime

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the change."""
    op.create_table(
        "driver_call",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column("uuid", AutoString(length=36), nullable=False, unique=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("driver", AutoString(length=255), nullable=False),
        sa.Column("step", sa.JSON(), nullable=False),
        sa.Column("status", AutoString(length=15), nullable=False),
        sa.Column("conductor", AutoString(length=255), nullable=True),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
    )
    op.create_index("ix_driver_call_status", "driver_call", ["status"])


def downgrade() -> None:
    """Take the change back."""
    op.drop_table("driver_call")

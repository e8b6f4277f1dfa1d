# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Let conductors share the work: the epoch that fences one which counted as dead, and the key that all must have."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlmodel.sql.sqltypes import AutoString

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the change."""
    op.add_column("conductor", sa.Column("epoch", sa.Integer(), nullable=False, server_default="0"))
    op.create_table(
        "deployment",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("key_fingerprint", AutoString(length=64), nullable=False),
    )


def downgrade() -> None:
    """Take the change back."""
    op.drop_table("deployment")
    op.drop_column("conductor", "epoch")

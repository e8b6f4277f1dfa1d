# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Let a conductor that starts again be told from another one that was given its name."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from sqlmodel.sql.sqltypes import AutoString

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the change."""
    op.add_column("conductor", sa.Column("identity", AutoString(length=64), nullable=False, server_default=""))


def downgrade() -> None:
    """Take the change back."""
    op.drop_column("conductor", "identity")

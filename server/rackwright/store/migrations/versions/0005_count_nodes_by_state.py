# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Let nodes be counted by state and maintenance without reading their rows."""

from __future__ import annotations

from alembic import op

revision = "0005"
down_revision = "0004"

_NAME = "ix_node_provision_state_maintenance"


def upgrade() -> None:
    """Make the change."""
    op.create_index(_NAME, "node", ["provision_state", "maintenance"])


def downgrade() -> None:
    """Take the change back."""
    op.drop_index(_NAME, "node")

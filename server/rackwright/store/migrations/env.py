# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Run the revisions on the connection, and inside the transaction, that the caller gives."""

from __future__ import annotations

from alembic import context
from sqlmodel import SQLModel

from rackwright.store import conductor, history, inventory, node, operation, port

TABLES = (node, port, inventory, history, conductor, operation)

context.configure(connection=context.config.attributes["connection"], target_metadata=SQLModel.metadata)
with context.begin_transaction():
    context.run_migrations()

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Run the revisions on the connection, and inside the transaction, that the caller gives."""

from __future__ import annotations

from alembic import context
from sqlmodel import SQLModel

from rackwright.store import (
    allocation,
    chassis,
    conductor,
    deploy_template,
    deployment,
    driver_call,
    hardware,
    history,
    inspection_rule,
    inventory,
    node,
    operation,
    port,
    portgroup,
    runbook,
    volume,
)

TABLES = (
    *(node, port, portgroup, chassis, inventory, history, conductor, operation),
    *(allocation, deploy_template, runbook, inspection_rule, volume, hardware, deployment, driver_call),
)

context.configure(connection=context.config.attributes["connection"], target_metadata=SQLModel.metadata)
with context.begin_transaction():
    context.run_migrations()

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The history of the database schema, as Alembic revisions."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine


def migrate(engine: Engine) -> None:
    """Bring the schema up to date; when processes start together, one does it and the others wait."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("path_separator", "os")
    with engine.execution_options(immediate=True).begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")

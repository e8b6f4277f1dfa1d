# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The history of the database schema, as Alembic revisions."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text

HEAD = "0002"
"""The newest revision. A process that finds it in the database does without Alembic, which takes 10 MB of memory."""


def migrate(engine: Engine) -> None:
    """Bring the schema up to date; when processes start together, one does it and the others wait."""
    with engine.connect() as connection:
        current = is_current(connection)
    if not current:
        _upgrade(engine)


def is_current(connection: Connection) -> bool:
    """Return whether the schema is the newest one."""
    if not inspect(connection).has_table("alembic_version"):
        return False
    return bool(connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == HEAD)


def _upgrade(engine: Engine) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("path_separator", "os")
    with engine.execution_options(immediate=True).begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")

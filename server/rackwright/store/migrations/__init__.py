# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The history of the database schema, as Alembic revisions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import ProgrammingError

from rackwright.store.ailment import misfit
from rackwright.store.session import UNAVAILABLE, DatabaseUnusable, telling_of_settings

_PAUSE = 2.0  # seconds between two tries to reach a server
_UNFIT = (
    "its driver does not take one of the parameters behind its ?, cannot read a file that one of them names, "
    "or does not take a character of its password; correct it"
)
"""Told without the driver's own words: they may name a piece of the password."""

_NEWER = "its tables are those of a newer version of Rackwright; install that one, or restore a copy"
_FOREIGN = "its tables are those of another program; name a database of its own"

HEAD = "0006"
"""The newest revision. A process that finds it in the database does without Alembic, which takes 10 MB of memory."""

_FIRST = frozenset({"conductor", "node", "operation", "port"})
"""Tables of the first revision."""


def migrate(engine: Engine) -> None:
    """Bring the schema up to date; when processes start together, one does it and the others wait.

    A server that does not answer is waited for. Raise DatabaseUnusable when the file or the schema is not ours.
    """
    _await(engine)
    with telling_of_settings(engine):
        with engine.connect() as connection:
            current = revision(connection)
        if current != HEAD:
            _upgrade(engine)


def _await(engine: Engine) -> None:
    while engine.dialect.name != "sqlite":
        try:
            with telling_of_settings(engine):
                engine.connect().close()
        except UNAVAILABLE as error:
            if (words := misfit(error)) is not None:
                raise DatabaseUnusable(reason=f"{words}; correct the parameters behind its ?") from error
            time.sleep(_PAUSE)
        except (ProgrammingError, FileNotFoundError, PermissionError, TypeError, ValueError) as error:
            raise DatabaseUnusable(reason=_UNFIT) from error
        else:
            return


def revision(connection: Connection) -> str:
    """Return the revision of the schema, as text that sorts by age; empty for a database without tables."""
    if not inspect(connection).has_table("alembic_version"):
        return ""
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar() or ""


def _refuse_others(connection: Connection) -> None:
    """Raise DatabaseUnusable where tables have our names, and no revision says that they are ours."""
    taken = sorted(_FIRST.intersection(inspect(connection).get_table_names()))
    if taken and not revision(connection):
        raise DatabaseUnusable(
            reason=f"it has tables of another program, or a part of ours ({', '.join(taken)}); "
            "name an empty database, or restore a whole copy"
        )


def _upgrade(engine: Engine) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("path_separator", "os")
    with _alone(engine), engine.execution_options(immediate=True).begin() as connection:
        _refuse_others(connection)
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:  # the database names a revision that this version does not have
            ours = revision(connection).isdecimal()
            raise DatabaseUnusable(reason=_NEWER if ours else _FOREIGN) from error


_LOCKING = {
    "postgresql": ("SET lock_timeout = 0", "SELECT pg_advisory_lock(hashtext('rackwright.migrations'))"),
    # Names are compared byte by byte, as in the other databases.
    "mysql": (
        "SELECT GET_LOCK('rackwright.migrations', 3600)",
        "ALTER DATABASE CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    ),
}


@contextmanager
def _alone(engine: Engine) -> Iterator[None]:
    """Keep out other processes that migrate as long as one more connection is open; on SQLite the transaction does."""
    statements = _LOCKING.get(engine.dialect.name)
    if statements is None:
        yield
        return
    with engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
        try:
            for statement in statements:
                connection.execute(text(statement))
            yield
        finally:
            connection.invalidate()

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Engines and sessions: SQLite by default; PostgreSQL and MariaDB need another URL only.

SQLite has one writer at a time. The others lock rows: who changes a node, or what belongs to it, locks the node first
(``lock=True`` of the queries, ``work.locked``), so that nobody waits in a circle. A process that stops in the middle of
a transaction is cut off by the server, so that its locks do not outlive it for long.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from pydantic_core import from_json
from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DatabaseError
from sqlalchemy.exc import DataError as DataError  # what a query raises for a value that fits no column
from sqlalchemy.pool import ConnectionPoolEntry
from sqlmodel import Session

from rackwright.domain.errors import Invalid
from rackwright.store import clock, outage
from rackwright.store.ailment import UNAVAILABLE as UNAVAILABLE
from rackwright.store.ailment import refusal, remedy

_WRITES = "rackwright.writes"
_BUSY_TIMEOUT = 30  # seconds that a writer waits for the one before it
_PAUSE = 0.05  # seconds between two attempts to set the journal
_PRAGMAS = (
    "PRAGMA synchronous=NORMAL",
    "PRAGMA foreign_keys=ON",
    f"PRAGMA busy_timeout={_BUSY_TIMEOUT * 1000}",
)
_RECYCLED = 300  # seconds after which a connection is made anew, and with it the clock compared
_POSTGRESQL = {
    "lock_timeout": f"{_BUSY_TIMEOUT}s",
    "idle_in_transaction_session_timeout": f"{_BUSY_TIMEOUT}s",
    "tcp_keepalives_idle": 30,
    "tcp_keepalives_interval": 10,
    "tcp_keepalives_count": 3,
    "tcp_user_timeout": "60s",
}
_MARIADB = {
    "innodb_lock_wait_timeout": _BUSY_TIMEOUT,
    "idle_transaction_timeout": _BUSY_TIMEOUT,
    "wait_timeout": 2 * _RECYCLED,
}
_AMBIGUOUS = (
    "where its password ends cannot be told; in user, password and all else but the one before the host, "
    "write @ as %40, / as %2F, : as %3A, ? as %3F, # as %23 and % as %25"
)
"""Told without a word of the URL: any of them may belong to the password."""
_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "mariadb": "mysql+pymysql"}
_CONNECTION: dict[str, dict[str, Any]] = {
    "postgresql": {
        "connect_timeout": 5,
        "keepalives_idle": 10,
        "keepalives_interval": 5,
        "keepalives_count": 3,
        "tcp_user_timeout": 15_000,
        "options": " ".join(f"-c {name}={value}" for name, value in _POSTGRESQL.items()),
    },
    "mysql": {
        "connect_timeout": 5,
        "read_timeout": _BUSY_TIMEOUT + 5,
        "write_timeout": 15,
        "charset": "utf8mb4",
        "init_command": "SET " + ", ".join(f"{name}={value}" for name, value in _MARIADB.items()),
    },
}
"""By backend: how long a connection is waited for that a broken network holds, and locks that others hold.

The server is told to forget a client of which it has not heard: each cut would leave connections there for hours.
"""


class DatabaseUnusable(Invalid):
    """The database of database_url cannot be used: {reason}."""


class FileUnusable(DatabaseUnusable):
    """The database file {file} cannot be used: {reason}; {action}."""


class Refused(DatabaseUnusable):
    """The server of database_url does not let {user} into {name}: {answer}. Correct them, or what {user} may do."""


@contextmanager
def telling_of_settings(engine: Engine) -> Iterator[None]:
    """Raise DatabaseUnusable, with what to do, where the database will not work as it is set up; else pass errors on.

    That is a file that SQLite cannot use, or a server that refuses the account.
    """
    try:
        yield
    except DatabaseError as error:
        if (action := remedy(error)) is not None:
            raise FileUnusable(file=engine.url.database, reason=str(error.orig), action=action) from error
        if (answer := refusal(error)) is not None:
            raise Refused(user=engine.url.username, name=engine.url.database, answer=answer) from error
        raise


def open_engine(url: str) -> Engine:
    """Return the engine for ``url``; of SQLite with WAL, foreign keys and transactions that really begin.

    Raise DatabaseUnusable for another kind of database, or one whose driver is not installed.
    """
    where = _with_driver(url)
    if where.get_backend_name() != "sqlite":
        return _open_shared(where)
    own = {"timeout": _BUSY_TIMEOUT, "check_same_thread": False}
    engine = create_engine(where, connect_args=own, json_deserializer=_parsed)
    turns = _Turns()
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", turns.begin)
    event.listen(engine, "checkin", turns.end)
    outage.watch(engine)
    return engine


def is_shared(url: str) -> bool:
    """Tell whether processes on several hosts can use the database; those of SQLite share a folder. Raise likewise."""
    return _with_driver(url).get_backend_name() != "sqlite"


def locks_rows(session: Session) -> bool:
    """Tell whether the session's database locks rows; else it has one writer at a time."""
    return session.get_bind().dialect.name != "sqlite"


def _with_driver(url: str) -> URL:
    try:
        where = make_url(url)
        where = where.set(drivername=_DRIVERS[where.get_backend_name()])
    except ValueError:  # what it takes for the port is no number, and may be a part of the password
        raise DatabaseUnusable(reason=_AMBIGUOUS) from None
    except (ArgumentError, KeyError):
        known = ", ".join(f"{name}://" for name in _DRIVERS)
        raise DatabaseUnusable(reason=f"it must begin with one of {known}") from None
    if where.get_backend_name() != "sqlite" and url.count("@") > (where.username is not None):
        raise DatabaseUnusable(reason=_AMBIGUOUS)
    return where


def _open_shared(where: URL) -> Engine:
    name = where.get_backend_name()
    try:
        engine = create_engine(
            where,
            connect_args=_CONNECTION[name],
            isolation_level="READ COMMITTED",
            json_deserializer=_parsed,
            max_overflow=40,
            pool_pre_ping=True,
            pool_recycle=_RECYCLED,
            pool_size=10,
        )
    except ModuleNotFoundError as error:
        extra = "postgresql" if name == "postgresql" else "mariadb"
        raise DatabaseUnusable(reason=f"its driver is missing; install rackwright[{extra}]") from error
    event.listen(engine, "connect", clock.compare)
    outage.watch(engine)
    return engine


def _prepare(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver must not begin on its own: it begins too late
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(pragma)
    _keep_a_log(cursor)
    cursor.close()


def _keep_a_log(cursor: sqlite3.Cursor) -> None:
    """Set the journal to WAL; in a new file others may be in the way, for whom SQLite itself does not wait here."""
    end = time.monotonic() + _BUSY_TIMEOUT
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(_PAUSE)
        else:
            return


def _parsed(text: str) -> Any:
    try:
        return from_json(text)
    except ValueError:  # half of a surrogate pair, as some firmware reports it
        return json.loads(text)


class _Turns:
    """Begins transactions, those that write one after the other.

    A transaction that reads first and writes later fails at once when another one wrote in between, without waiting.
    One that means to write says so from the start and waits for its turn. SQLite lets it ask again and again, with
    pauses, until the other is done: that is for other processes; threads of this one wait for a lock, which is fair.
    """

    def __init__(self) -> None:
        self._lock = Lock()

    def begin(self, connection: Connection) -> None:
        if not connection.get_execution_options().get("immediate", False):
            connection.exec_driver_sql("BEGIN")
            return
        facts = connection.connection.record_info
        if facts is not None and not facts.get(_WRITES):
            facts[_WRITES] = self._lock.acquire(timeout=_BUSY_TIMEOUT)
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def end(self, _connection: object, record: ConnectionPoolEntry) -> None:
        """Let the next one write: whatever became of the transaction, its connection goes back to the pool."""
        if (record.record_info or {}).pop(_WRITES, False):
            self._lock.release()


def session_of(engine: Engine, *, write: bool) -> Session:
    """Return a session; the caller closes it, and commits when ``write`` is true.

    Rows stay readable after the commit.
    """
    return Session(engine.execution_options(immediate=True) if write else engine, expire_on_commit=False)


@contextmanager
def reading(engine: Engine) -> Iterator[Session]:
    """Open a session that only reads; on SQLite, what it sees does not change while it is open."""
    with session_of(engine, write=False) as session:
        yield session


@contextmanager
def writing(engine: Engine) -> Iterator[Session]:
    """Open a session that will write; without a commit nothing of it stays."""
    with session_of(engine, write=True) as session:
        yield session

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Engines and sessions: SQLite by default; PostgreSQL and MariaDB need another URL only."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from pydantic_core import from_json
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import ConnectionPoolEntry
from sqlmodel import Session

DatabaseUnavailable = OperationalError
"""What a query raises when the database does not answer, or SQLite is held by another writer for too long."""

_WRITES = "rackwright.writes"
_BUSY_TIMEOUT = 30  # seconds that a writer waits for the one before it
_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",
    "PRAGMA foreign_keys=ON",
    f"PRAGMA busy_timeout={_BUSY_TIMEOUT * 1000}",
)


def open_engine(url: str) -> Engine:
    """Return the engine for ``url``; of SQLite with WAL, foreign keys and transactions that really begin."""
    if make_url(url).get_backend_name() != "sqlite":
        return create_engine(url, pool_pre_ping=True, json_deserializer=_parsed)
    own = {"timeout": _BUSY_TIMEOUT, "check_same_thread": False}
    engine = create_engine(url, connect_args=own, json_deserializer=_parsed)
    turns = _Turns()
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", turns.begin)
    event.listen(engine, "checkin", turns.end)
    return engine


def _prepare(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver must not begin on its own: it begins too late
    cursor = connection.cursor()
    for pragma in _PRAGMAS:
        cursor.execute(pragma)
    cursor.close()


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
    """Open a session that only reads; what it sees does not change while it is open."""
    with session_of(engine, write=False) as session:
        yield session


@contextmanager
def writing(engine: Engine) -> Iterator[Session]:
    """Open a session that will write; without a commit nothing of it stays. One writer at a time on SQLite."""
    with session_of(engine, write=True) as session:
        yield session

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What ails a database that refuses to work, and what to do; nothing of the set-up is told."""

from __future__ import annotations

import re
import sqlite3

from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnection

from rackwright.telemetry.surroundings import NO_FILES, lacks_files

UNAVAILABLE = (OperationalError, InterfaceError, NoConnection)
"""What a query raises when the database does not answer, gave up a deadlock, or is held by others for too long."""

_DAMAGED = (
    "The file of the database is damaged",
    "restore a copy of it, or move it away with its -wal and -shm files: the daemon then begins with an empty one",
)
_CLOSED = (
    "The file of the database cannot be opened and written",
    "give it and its folder to the user of the daemon, or name another place in state_dir or database_url",
)
_AILMENTS = {
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_CANTOPEN: _CLOSED,
    sqlite3.SQLITE_PERM: _CLOSED,
    sqlite3.SQLITE_READONLY: _CLOSED,
    sqlite3.SQLITE_IOERR: (
        "The disk that holds the database cannot be read or written",
        "see that it is neither full nor broken",
    ),
    sqlite3.SQLITE_FULL: ("The disk that holds the database is full", "free space on it"),
    sqlite3.SQLITE_BUSY: ("Another program holds the database", "end it"),
}
"""By what SQLite says: what that means, and what the operator can do."""
_SHUT = (
    "The database does not let the daemon in",
    "correct database_url, or what the server has of its account; the log has the server's answer",
)
_SHUT_OF_MARIADB = frozenset({1044, 1045, 1049, 1130, 1142, 1698})
"""Its numbers for an account, a database, a host or a statement that it refuses."""
_SHUT_OF_POSTGRESQL = re.compile(
    'authentication failed for user|no password supplied|(role|database) ".*" does not exist|not permitted to log in'
    "|permission denied for|no pg_hba.conf entry|pg_hba.conf rejects"
)
"""Its texts for the same: of what it answers before a client is in, the library passes on no code.

Of a server that speaks another language none fits: what it answers is logged, and it is tried again.
"""
_MISFIT_OF_POSTGRESQL = re.compile(r"invalid \w+ value: .*|server does not support SSL.*")
"""Its texts for parameters behind the ? of database_url with which no connection can be made."""
_PRIMARY = 0xFF  # the part of a code of SQLite that names its kind


def remedy(error: BaseException) -> str | None:
    """Return what the operator can do about a file of SQLite that cannot be used; None for other errors."""
    known = _known(error)
    return known[1] if known else None


def refusal(error: BaseException) -> str | None:
    """Return the words with which a server refuses the account or database of database_url; None for other errors."""
    origin = getattr(error, "orig", None)
    words = " ".join(str(origin).split())
    number = origin.args[0] if isinstance(origin, Exception) and origin.args else None
    return words if number in _SHUT_OF_MARIADB or _SHUT_OF_POSTGRESQL.search(words) else None


def misfit(error: BaseException) -> str | None:
    """Return the words that tell of a wrong parameter of database_url; None for other errors."""
    found = _MISFIT_OF_POSTGRESQL.search(" ".join(str(getattr(error, "orig", None)).split()))
    return found[0] if found else None


def ailment(error: BaseException) -> str:
    """Return why a query found no working database, and what to do if that is known; without a full stop."""
    known = _known(error) or (_SHUT if refusal(error) else None)
    return "; ".join(known) if known else "The database does not answer"


def _known(error: BaseException) -> tuple[str, str] | None:
    code = getattr(getattr(error, "orig", None), "sqlite_errorcode", 0) & _PRIMARY
    if code == sqlite3.SQLITE_CANTOPEN and lacks_files():
        return f"The file of the database cannot be opened: {NO_FILES[0]}", NO_FILES[1]
    return _AILMENTS.get(code)

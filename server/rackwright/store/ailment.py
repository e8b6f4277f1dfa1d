# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What ails a database that refuses to work, and what to do; nothing of the set-up is told."""

from __future__ import annotations

import sqlite3

from rackwright.telemetry.surroundings import NO_FILES, lacks_files

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
_PRIMARY = 0xFF  # the part of a code of SQLite that names its kind


def remedy(error: BaseException) -> str | None:
    """Return what the operator can do about a file of SQLite that cannot be used; None for other errors."""
    known = _known(error)
    return known[1] if known else None


def ailment(error: BaseException) -> str:
    """Return why a query found no working database, and what to do if that is known; without a full stop."""
    known = _known(error)
    return "; ".join(known) if known else "The database does not answer"


def _known(error: BaseException) -> tuple[str, str] | None:
    code = getattr(getattr(error, "orig", None), "sqlite_errorcode", 0) & _PRIMARY
    if code == sqlite3.SQLITE_CANTOPEN and lacks_files():
        return f"The file of the database cannot be opened: {NO_FILES[0]}", NO_FILES[1]
    return _AILMENTS.get(code)

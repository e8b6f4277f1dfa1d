# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What ails a database that refuses to work, and what to do; nothing of the set-up is told."""

from __future__ import annotations

import sqlite3

_BY_CODE = {
    sqlite3.SQLITE_FULL: "The disk that holds the database is full; free space on it",
    sqlite3.SQLITE_IOERR: "The disk that holds the database cannot be read or written; "
    "see that it is neither full nor broken",
}
_PRIMARY = 0xFF  # the part of a code of SQLite that names its kind


def ailment(error: BaseException) -> str:
    """Return why a query failed that found no working database, without a full stop at its end."""
    code = getattr(getattr(error, "orig", None), "sqlite_errorcode", 0)
    return _BY_CODE.get(code & _PRIMARY, "The database does not answer")

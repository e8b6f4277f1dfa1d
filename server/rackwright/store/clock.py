# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The one clock of all processes: that of the database they share, so that hosts whose clocks differ agree."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Compiled
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.expression import ColumnElement

_ENOUGH = timedelta(milliseconds=50)
"""Clocks that differ by less are the same to us."""


class _Difference:
    """How far the database's clock is ahead of this host's; none as long as no other host shares the database."""

    ahead = timedelta()


def now() -> datetime:
    """Return the present time in UTC, as the database has it."""
    return datetime.now(UTC) + _Difference.ahead


def compare(connection: Any, _record: object) -> None:
    """Compare this host's clock with that of a database connection that was just made."""
    is_mariadb = type(connection).__module__.startswith("pymysql")
    asked = datetime.now(UTC)
    with connection.cursor() as cursor:
        cursor.execute("SELECT UTC_TIMESTAMP(6)" if is_mariadb else "SELECT clock_timestamp() AT TIME ZONE 'UTC'")
        (told,) = cursor.fetchone()
    connection.rollback()
    answered = datetime.now(UTC)
    ahead = told.replace(tzinfo=UTC) - (asked + (answered - asked) / 2)
    _Difference.ahead = ahead if abs(ahead) > _ENOUGH + (answered - asked) / 2 else timedelta()


class Ago(ColumnElement[datetime]):
    """The time of the database itself so many seconds ago, in UTC: an expression that each of them spells its way."""

    inherit_cache = False

    def __init__(self, seconds: float = 0) -> None:
        self.seconds = float(seconds)


@compiles(Ago, "sqlite")
def _sqlite(element: Ago, _compiler: Compiled, **_: Any) -> str:
    return f"strftime('%Y-%m-%d %H:%M:%f000', 'now', '{-element.seconds:+f} seconds')"


@compiles(Ago, "postgresql")
def _postgresql(element: Ago, _compiler: Compiled, **_: Any) -> str:
    return f"(clock_timestamp() AT TIME ZONE 'UTC' - INTERVAL '{element.seconds:f} seconds')"


@compiles(Ago, "mysql")
def _mariadb(element: Ago, _compiler: Compiled, **_: Any) -> str:
    return f"(UTC_TIMESTAMP(6) - INTERVAL {element.seconds:f} SECOND)"

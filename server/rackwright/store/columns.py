# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What the columns of all tables have in common: time in UTC, JSON values, the clock behind created_at."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from sqlalchemy import JSON, DateTime, Dialect, Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import TypeCompiler
from sqlalchemy.types import TypeDecorator
from sqlmodel import Field
from typing_extensions import override

from rackwright.store.clock import now as now  # the clock behind created_at; every room asks for it here


@compiles(JSON, "mysql")
def _text(_type: JSON, _compiler: TypeCompiler, **_: Any) -> str:
    """Return the type of JSON columns in MariaDB, whose own JSON is this with a check that refuses half of a pair."""
    return "LONGTEXT"


class ExactJson(JSON):
    """A JSON column that is written anew where only a number became a boolean, which Python takes for equal."""

    @override
    def compare_values(self, x: Any, y: Any) -> bool:
        """Return whether two values are the same in JSON."""
        return bool(x == y) and json.dumps(x, sort_keys=True) == json.dumps(y, sort_keys=True)


def new_uuid() -> str:
    """Return a new random UUID as text."""
    return str(uuid4())


class UtcDateTime(TypeDecorator[datetime]):
    """A time zone aware time, stored without its zone as UTC; a naive one is refused."""

    impl = DateTime
    cache_ok = True

    @override
    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Turn an aware time into naive UTC; raise ValueError for a naive one."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without its zone cannot be stored")
        return value.astimezone(UTC).replace(tzinfo=None)

    @override
    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Give a stored time its zone back."""
        return None if value is None else value.replace(tzinfo=UTC)


@compiles(UtcDateTime, "mysql")
def _to_the_microsecond(_type: UtcDateTime, _compiler: TypeCompiler, **_: Any) -> str:
    """Return the type of times in MariaDB, whose own keeps whole seconds only."""
    return "DATETIME(6)"


def json_object() -> Any:
    """Return a column that holds a JSON object, ``{}`` by default."""
    return Field(default={}, sa_type=ExactJson, nullable=False)  # each row gets a copy


def json_list() -> Any:
    """Return a column that holds a JSON list, ``[]`` by default."""
    return Field(default=[], sa_type=ExactJson, nullable=False)


def text() -> Any:
    """Return a nullable column for text of any length."""
    return Field(default=None, sa_type=Text)


def time() -> Any:
    """Return a nullable column for a time."""
    return Field(default=None, sa_type=UtcDateTime)


def created() -> Any:
    """Return the column of the moment in which a row was made."""
    return Field(default_factory=now, sa_type=UtcDateTime, nullable=False)


def updated() -> Any:
    """Return the column of the last change; null until the first one (contract: node-fields.md)."""
    return Field(default=None, sa_type=UtcDateTime, sa_column_kwargs={"onupdate": now})


def key() -> Any:
    """Return the primary key column."""
    return Field(default=None, primary_key=True)


def identity() -> Any:
    """Return the column of a UUID, generated unless given."""
    return Field(default_factory=new_uuid, max_length=36, unique=True)


def owner_node() -> Any:
    """Return the column that points to the node a row belongs to; the row goes when its node goes."""
    return Field(foreign_key="node.id", ondelete="CASCADE", index=True)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A table as the source of one resource: find a row, list a page of rows, ask whether a value is taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Generic, TypeVar
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, bindparam, or_, select
from sqlmodel import Session, SQLModel, col
from sqlmodel import select as select_rows
from sqlmodel.sql.expression import SelectOfScalar

from rackwright.domain.errors import NotFound
from rackwright.store.paging import Page

VISIBLE_TO = "visible_to"
"""The filter that leaves out what a project must not see."""
_FOR_MARKERS = (VISIBLE_TO, "node_id", "portgroup_uuid")
"""The filters that say whose rows are listed: they hold for the marker of a page too, which else is unknown."""

Condition = Callable[[Any], ColumnElement[bool]]
Filters = Mapping[str, Condition]
Table = TypeVar("Table", bound=SQLModel)


def equal(table: type[SQLModel], *names: str) -> dict[str, Condition]:
    """Return filters that compare columns with a value, each named as its column."""

    def compare(name: str) -> Condition:
        return lambda value: col(getattr(table, name)) == value

    return {name: compare(name) for name in names}


@dataclass(frozen=True, slots=True, eq=False)
class Source(Generic[Table]):
    """Where the rows of a resource come from."""

    table: type[Table]
    missing: type[NotFound]
    """The error where no row fits; its text needs ``ident`` only."""
    filters: Filters = field(default_factory=dict)
    """Each filter of ``find`` and ``listed``: its name and the condition that its value makes."""
    joined: type[SQLModel] | None = None
    """A table that every row points to; filters may use it."""
    borrowed: Mapping[str, Any] = field(default_factory=dict)
    """Columns of the joined table that rows show under another name."""
    marker_key: str = "uuid"
    """The column that a page's marker names."""
    named: bool = True
    """Whether a row is also known by its name."""

    def get(self, ident: str, *, session: Session, lock: bool = False) -> Table:
        """Return the row with this UUID (in any spelling) or else name; raise the source's error.

        ``lock`` keeps other writers out until the transaction ends.
        """
        name, value = self._identity(ident)
        return self._one(_rows(self, name, lock), ident, session=session, value=value)

    def first(self, condition: ColumnElement[bool], ident: object, *, session: Session, lock: bool = False) -> Table:
        """Return the row that meets the condition; raise the source's error, which names ``ident``."""
        return self._one(_locked(select_rows(self.table).where(condition), lock), ident, session=session)

    def _one(self, statement: SelectOfScalar[Table], ident: object, *, session: Session, **values: Any) -> Table:
        found = session.exec(statement, params=values).first()
        if found is None:
            raise self.missing(ident=ident)
        return found

    def known_as(self, ident: str) -> ColumnElement[bool]:
        """Return the condition that finds a row by UUID (in any spelling) or else by name."""
        name, value = self._identity(ident)
        known: ColumnElement[bool] = self.column(name) == value
        return known

    def _identity(self, ident: str) -> tuple[str, str]:
        try:
            return "uuid", str(UUID(ident))
        except ValueError:
            return "name" if self.named else "uuid", ident

    def find(self, *, session: Session, **filters: Any) -> Sequence[Table]:
        """Return all rows that meet the filters, in order of their creation."""
        statement = select_rows(self.table).where(*self._conditions(filters)).order_by(self.column("id"))
        return session.exec(statement if self.joined is None else statement.join(self.joined)).all()

    def taken(self, name: str, value: object, *, session: Session, besides: int | None = None) -> bool:
        """Return whether a row other than ``besides`` (its primary key) has this value in a column."""
        found = session.connection().execute(_ids(self, name), {"value": value}).scalars()
        return any(row_id != besides for row_id in found)

    def listed(
        self, columns: Sequence[str], *, session: Session, page: Page, filters: Mapping[str, Any] | None = None
    ) -> list[dict[str, Any]]:
        """Return one page of rows with the named columns only; raise the source's error for an unknown marker."""
        key, identity = self.column(page.sort_key), self.column("id")
        chosen = [self.column(name).label(name) for name in columns]
        statement = select(*chosen).select_from(self.table).where(*self._conditions(filters or {}))
        if self.joined is not None:
            statement = statement.join(self.joined)
        if page.marker is not None:
            statement = statement.where(self._after(page, filters or {}, session=session))
        order = [key.is_not(None), key, identity]  # rows without a value come first, in every database
        if page.sort_dir == "desc":
            order = [part.desc() for part in order]
        found = session.connection().execute(statement.order_by(*order).limit(page.limit))
        return [dict(zip(columns, row, strict=True)) for row in found]

    def column(self, name: str) -> Any:
        """Return a column of the table, or the one that it borrows under this name."""
        return col(self.borrowed[name] if name in self.borrowed else getattr(self.table, name))

    def _conditions(self, filters: Mapping[str, Any]) -> list[ColumnElement[bool]]:
        return [self.filters[name](value) for name, value in filters.items()]

    def _after(self, page: Page, filters: Mapping[str, Any], *, session: Session) -> ColumnElement[bool]:
        key, identity = self.column(page.sort_key), self.column("id")
        seen = self._conditions({name: value for name, value in filters.items() if name in _FOR_MARKERS})
        wanted = select(key, identity).select_from(self.table).where(self.column(self.marker_key) == page.marker, *seen)
        if self.joined is not None:
            wanted = wanted.join(self.joined)
        found = session.connection().execute(wanted).first()
        if found is None:
            raise self.missing(ident=page.marker)
        value, row_id = found
        upwards = page.sort_dir == "asc"
        later = identity > row_id if upwards else identity < row_id
        if value is None:
            same = and_(key.is_(None), later)
            return or_(same, key.is_not(None)) if upwards else same
        beyond = key > value if upwards else or_(key < value, key.is_(None))
        return or_(beyond, and_(key == value, later))


# The statements of every request are made once: making one takes longer than SQLite takes to answer it.


@cache
def _rows(source: Source[Table], name: str, lock: bool) -> SelectOfScalar[Table]:
    """Return the statement for the rows that have ``value`` in a column."""
    return _locked(select_rows(source.table).where(source.column(name) == bindparam("value")), lock)


@cache
def _ids(source: Source[Any], name: str) -> Select[int]:
    """Return the statement for the primary keys of the rows that have ``value`` in a column."""
    return select(source.column("id")).where(source.column(name) == bindparam("value"))


def _locked(statement: SelectOfScalar[Table], lock: bool) -> SelectOfScalar[Table]:
    # What this session read before it had the lock may be old by now.
    return statement.with_for_update().execution_options(populate_existing=True) if lock else statement

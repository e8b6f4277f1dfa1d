# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""One page of a table, in a stable order, from a marker on (contract: api.yaml, collections)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, and_, or_, select
from sqlmodel import Session, SQLModel, col

from rackwright.domain.errors import NotFound


@dataclass(frozen=True, slots=True)
class Page:
    """Which part of a list is wanted; rows with the same ``sort_key`` are in order of their creation."""

    limit: int | None = None
    marker: str | None = None
    sort_key: str = "id"
    sort_dir: Literal["asc", "desc"] = "asc"


@dataclass(frozen=True, slots=True)
class Source:
    """Where rows come from: a table, one it is joined with, the column that markers name, the error without one."""

    table: type[SQLModel]
    missing: type[NotFound]
    marker_key: str = "uuid"
    joined: type[SQLModel] | None = None

    def column(self, name: str) -> Any:
        """Return the column ``name`` of the table, or else of the joined one."""
        owner = self.table if hasattr(self.table, name) or self.joined is None else self.joined
        return col(getattr(owner, name))

    def rows(
        self, columns: Sequence[Any], conditions: Sequence[ColumnElement[bool]], *, session: Session, page: Page
    ) -> list[dict[str, Any]]:
        """Return the rows of one page; raise the source's error when no row carries the marker."""
        key, identity = self.column(page.sort_key), self.column("id")
        statement = select(*columns).select_from(self.table).where(*conditions)
        if self.joined is not None:
            statement = statement.join(self.joined)
        if page.marker is not None:
            statement = statement.where(self._after(page, session=session))
        order = [key.is_not(None), key, identity]  # rows without a value come first, in every database
        if page.sort_dir == "desc":
            order = [part.desc() for part in order]
        found = session.connection().execute(statement.order_by(*order).limit(page.limit))
        names = list(found.keys())
        return [dict(zip(names, row, strict=True)) for row in found]

    def _after(self, page: Page, *, session: Session) -> ColumnElement[bool]:
        key, identity = self.column(page.sort_key), self.column("id")
        wanted = select(key, identity).select_from(self.table).where(self.column(self.marker_key) == page.marker)
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

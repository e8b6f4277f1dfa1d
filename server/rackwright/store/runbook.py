# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The runbook table: named lists of clean and service steps."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, or_
from sqlmodel import Field, SQLModel, col

from rackwright.domain.errors import RunbookNotFound
from rackwright.store.columns import created, identity, json_list, json_object, key, updated
from rackwright.store.source import Source


class Runbook(SQLModel, table=True):
    """One runbook; a public one has no owner."""

    id: int | None = key()
    uuid: str = identity()
    created_at: datetime = created()
    updated_at: datetime | None = updated()
    name: str = Field(unique=True)
    description: str | None = Field(default=None, max_length=255)
    owner: str | None = None
    public: bool = False
    disable_ramdisk: bool = False
    traits: list[str] = json_list()
    steps: list[dict[str, Any]] = json_list()
    extra: dict[str, Any] = json_object()


def _usable_by(project: str) -> ColumnElement[bool]:
    return or_(col(Runbook.owner) == project, col(Runbook.public))


RUNBOOKS = Source(Runbook, RunbookNotFound, {"usable_by": _usable_by, "visible_to": _usable_by})


def ordered(runbook: Runbook) -> list[dict[str, Any]]:
    """Return the steps in their order; those of the same order as they were given. Secrets in them are sealed."""
    return sorted(runbook.steps, key=lambda step: int(step["order"]))

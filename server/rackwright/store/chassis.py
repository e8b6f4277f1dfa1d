# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The chassis table: what groups nodes by their enclosure."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlmodel import Field, SQLModel

from rackwright.domain.errors import ChassisNotFound
from rackwright.store.columns import created, identity, json_object, key, updated
from rackwright.store.source import Source


class Chassis(SQLModel, table=True):
    """One chassis; its nodes name it by its UUID."""

    id: int | None = key()
    uuid: str = identity()
    created_at: datetime = created()
    updated_at: datetime | None = updated()
    description: str | None = Field(default=None, max_length=255)
    extra: dict[str, Any] = json_object()


CHASSIS = Source(Chassis, ChassisNotFound, named=False)

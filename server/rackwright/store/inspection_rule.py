# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The inspection rule table: what is done with the data of an inspection (contract: engine.md section 9)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlmodel import Field, SQLModel

from rackwright.domain.errors import InspectionRuleNotFound
from rackwright.store.columns import created, identity, json_list, key, updated
from rackwright.store.source import Source, equal


class InspectionRule(SQLModel, table=True):
    """One rule; those with the greatest priority come first."""

    __tablename__ = "inspection_rule"

    id: int | None = key()
    uuid: str = identity()
    created_at: datetime = created()
    updated_at: datetime | None = updated()
    description: str | None = Field(default=None, max_length=255)
    priority: int = 0
    sensitive: bool = False
    phase: str = "main"
    conditions: list[dict[str, Any]] = json_list()
    actions: list[dict[str, Any]] = json_list()


INSPECTION_RULES = Source(InspectionRule, InspectionRuleNotFound, equal(InspectionRule, "phase"), named=False)

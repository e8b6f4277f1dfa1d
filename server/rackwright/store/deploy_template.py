# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The deploy template table: deploy steps that a trait of the instance adds."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlmodel import Field, SQLModel, col

from rackwright.domain.errors import DeployTemplateNotFound
from rackwright.store.columns import created, identity, json_list, json_object, key, updated
from rackwright.store.source import Source


class DeployTemplate(SQLModel, table=True):
    """One deploy template; its name is the trait that asks for it."""

    __tablename__ = "deploy_template"

    id: int | None = key()
    uuid: str = identity()
    created_at: datetime = created()
    updated_at: datetime | None = updated()
    name: str = Field(unique=True)
    steps: list[dict[str, Any]] = json_list()
    extra: dict[str, Any] = json_object()


DEPLOY_TEMPLATES = Source(
    DeployTemplate, DeployTemplateNotFound, {"names": lambda names: col(DeployTemplate.name).in_(names)}
)

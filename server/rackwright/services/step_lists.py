# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What deploy templates and runbooks have in common: a unique name, and steps whose secrets are sealed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rackwright.domain.errors import Duplicate
from rackwright.services.context import Context, no_duplicate
from rackwright.store.deploy_template import DEPLOY_TEMPLATES, DeployTemplate
from rackwright.store.runbook import RUNBOOKS, Runbook
from rackwright.store.source import Source


def change(row: DeployTemplate | Runbook, values: Mapping[str, Any], *, context: Context) -> None:
    """Set fields of a row; secrets in steps are sealed. Nothing is stored yet."""
    for name, value in values.items():
        setattr(row, name, context.sealer.seal({name: value})[name] if name == "steps" else value)


def store(row: DeployTemplate | Runbook, *, context: Context) -> None:
    """Store a row; raise Duplicate for a UUID or a name that is taken."""
    source: Source[Any] = RUNBOOKS if isinstance(row, Runbook) else DEPLOY_TEMPLATES
    what = "A runbook" if isinstance(row, Runbook) else "A deploy template"
    for name in ("uuid", "name"):
        value = getattr(row, name)
        if source.taken(name, value, besides=row.id, session=context.session):
            raise Duplicate(what=f"{what} with {name}", ident=value)
    context.session.add(row)
    with no_duplicate(f"{what} with name", row.name):
        context.session.commit()

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Deploy templates: steps that a trait of the instance adds to a deployment (contract: node-fields.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rackwright.services import access, step_lists
from rackwright.services.context import Context
from rackwright.store.deploy_template import DEPLOY_TEMPLATES, DeployTemplate
from rackwright.store.paging import Page

Row = dict[str, Any]
Steps = Sequence[Row]


def get(ident: str, *, context: Context, lock: bool = False) -> DeployTemplate:
    """Return the deploy template with this UUID or name; raise DeployTemplateNotFound or Forbidden."""
    access.demand("baremetal:deploy_template:get", context=context)
    return DEPLOY_TEMPLATES.get(ident, session=context.session, lock=lock)


def listed(columns: Sequence[str], *, context: Context, page: Page) -> list[Row]:
    """Return one page of deploy templates; raise DeployTemplateNotFound for an unknown marker, or Forbidden."""
    access.demand("baremetal:deploy_template:get", context=context)
    return DEPLOY_TEMPLATES.listed(columns, session=context.session, page=page)


def create(values: Mapping[str, Any], *, context: Context) -> DeployTemplate:
    """Create a deploy template and return it; raise Duplicate or Forbidden."""
    access.demand("baremetal:deploy_template:create", context=context)
    template = DeployTemplate(name=values["name"])
    kept = {name: value for name, value in values.items() if name != "description"}
    step_lists.change(template, kept, context=context)
    step_lists.store(template, context=context)
    return template


def update(template: DeployTemplate, values: Mapping[str, Any], *, context: Context) -> None:
    """Change fields of a deploy template; raise Duplicate or Forbidden."""
    access.demand("baremetal:deploy_template:update", context=context)
    step_lists.change(template, values, context=context)
    step_lists.store(template, context=context)


def delete(ident: str, *, context: Context) -> None:
    """Remove a deploy template; deployments that go on keep its steps. Raise DeployTemplateNotFound or Forbidden."""
    access.demand("baremetal:deploy_template:delete", context=context)
    context.session.delete(DEPLOY_TEMPLATES.get(ident, session=context.session, lock=True))
    context.session.commit()


def steps_for(traits: Sequence[str], *, context: Context) -> list[Steps]:
    """Return the steps of the templates that these traits name; secrets in them are sealed."""
    found = DEPLOY_TEMPLATES.find(session=context.session, names=traits) if traits else ()
    return [each.steps for each in found]

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Deploy templates (contract: api.yaml, deploy templates)."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.collections import CHOICE, FIELDS, PAGING, created, listing, show
from rackwright.api.deps import CallDep, checked_ident, reply
from rackwright.api.documents import creates, lists, patches, shows, takes
from rackwright.api.patch import changes
from rackwright.api.routing import Router
from rackwright.api.schemas.deploy_template import DEPLOY_TEMPLATE
from rackwright.api.versions import since
from rackwright.services import deploy_templates

router = Router(prefix="/v1/deploy_templates", tags=["deploy templates"])

_READS = [since(55)]
_WRITES = [since(55, refusal=405)]


@router.get(
    "",
    summary="List deploy templates",
    dependencies=_READS,
    openapi_extra=takes(PAGING, CHOICE) | lists(DEPLOY_TEMPLATE),
)
def index(call: CallDep) -> Response:
    """Return one page of deploy templates."""
    wanted = listing(call, DEPLOY_TEMPLATE, {})
    return wanted.answer(deploy_templates.listed(("uuid", *wanted.columns), context=call.context, page=wanted.page))


@router.post(
    "",
    summary="Create a deploy template",
    status_code=201,
    dependencies=_WRITES,
    openapi_extra=creates(DEPLOY_TEMPLATE),
)
def create(call: CallDep) -> Response:
    """Create a deploy template."""
    call.query({})
    made = deploy_templates.create(DEPLOY_TEMPLATE.read(call.json(), call.minor), context=call.context)
    return created(call, DEPLOY_TEMPLATE, made.model_dump())


@router.get(
    "/{ident}",
    summary="Show a deploy template",
    dependencies=_READS,
    openapi_extra=takes(FIELDS) | shows(DEPLOY_TEMPLATE),
)
def one(call: CallDep, ident: str) -> Response:
    """Return one deploy template."""
    return show(call, DEPLOY_TEMPLATE, deploy_templates.get(checked_ident(ident), context=call.context).model_dump())


@router.patch(
    "/{ident}", summary="Change a deploy template", dependencies=_WRITES, openapi_extra=patches(DEPLOY_TEMPLATE)
)
def patch(call: CallDep, ident: str) -> Response:
    """Change fields of a deploy template with a JSON patch."""
    call.query({})
    found = deploy_templates.get(checked_ident(ident), context=call.context, lock=True)
    values = changes(DEPLOY_TEMPLATE, found.model_dump(), call.json(), call.minor)
    deploy_templates.update(found, values, context=call.context)
    return show(call, DEPLOY_TEMPLATE, found.model_dump(), {})


@router.delete("/{ident}", summary="Remove a deploy template", status_code=204, dependencies=_WRITES)
def delete(call: CallDep, ident: str) -> Response:
    """Remove a deploy template."""
    call.query({})
    deploy_templates.delete(checked_ident(ident), context=call.context)
    return reply(status=204)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Inspection rules: lists, creation, one rule (contract: api.yaml, inspection rules)."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.collections import CHOICE, FIELDS, PAGING, listing, show
from rackwright.api.deps import Arg, Args, Call, CallDep, checked_uuid, reply
from rackwright.api.documents import creates, lists, patches, shows, takes
from rackwright.api.fields import Row
from rackwright.api.kinds import TEXT
from rackwright.api.patch import changes
from rackwright.api.routing import Router
from rackwright.api.schemas.inspection_rule import INSPECTION_RULE, SINCE
from rackwright.api.versions import since
from rackwright.services import inspection_rules
from rackwright.store.inspection_rule import InspectionRule

router = Router(prefix="/v1/inspection_rules", tags=["inspection rules"])

_FILTERS: Args = {"phase": Arg(TEXT)}
_READ, _WRITE = [since(SINCE)], [since(SINCE, refusal=405)]


def _shown(call: Call, rule: InspectionRule, args: Args = FIELDS) -> Response:
    return show(call, INSPECTION_RULE, _visible(rule.model_dump()), args)


def _visible(row: Row) -> Row:
    """Return what clients may see of a rule."""
    return {**row, "conditions": None, "actions": None} if row["sensitive"] else row


@router.get(
    "",
    summary="List inspection rules",
    dependencies=_READ,
    openapi_extra=takes(_FILTERS, PAGING, CHOICE) | lists(INSPECTION_RULE),
)
def index(call: CallDep) -> Response:
    """Return one page of inspection rules; all are of the one phase that there is."""
    wanted = listing(call, INSPECTION_RULE, _FILTERS)
    rows = inspection_rules.listed(("uuid", "sensitive", *wanted.columns), context=call.context, page=wanted.page)
    return wanted.answer([_visible(row) for row in rows])


@router.post(
    "",
    summary="Create an inspection rule",
    status_code=201,
    dependencies=_WRITE,
    openapi_extra=creates(INSPECTION_RULE),
)
def create(call: CallDep) -> Response:
    """Create an inspection rule."""
    call.query({})
    rule = inspection_rules.create(INSPECTION_RULE.read(call.json(), call.minor), context=call.context)
    answer = _shown(call, rule, {})
    answer.status_code = 201
    answer.headers["Location"] = f"{call.url}/v1/inspection_rules/{rule.uuid}"
    return answer


@router.delete("", summary="Remove all inspection rules", status_code=204, dependencies=_WRITE)
def delete_all(call: CallDep) -> Response:
    """Remove all inspection rules; those of the operator's file stay."""
    call.query({})
    inspection_rules.delete_all(context=call.context)
    return reply(status=204)


@router.get(
    "/{uuid}",
    summary="Show an inspection rule",
    dependencies=_READ,
    openapi_extra=takes(FIELDS) | shows(INSPECTION_RULE),
)
def one(call: CallDep, uuid: str) -> Response:
    """Return one inspection rule."""
    return _shown(call, inspection_rules.get(checked_uuid(uuid), context=call.context))


@router.patch(
    "/{uuid}", summary="Change an inspection rule", dependencies=_WRITE, openapi_extra=patches(INSPECTION_RULE)
)
def patch(call: CallDep, uuid: str) -> Response:
    """Change fields of an inspection rule with a JSON patch."""
    call.query({})
    rule = inspection_rules.get(checked_uuid(uuid), context=call.context, lock=True)
    values = changes(INSPECTION_RULE, rule.model_dump(), call.json(), call.minor)
    inspection_rules.update(rule, values, context=call.context)
    return _shown(call, rule, {})


@router.delete("/{uuid}", summary="Remove an inspection rule", status_code=204, dependencies=_WRITE)
def delete(call: CallDep, uuid: str) -> Response:
    """Remove an inspection rule."""
    call.query({})
    inspection_rules.delete(checked_uuid(uuid), context=call.context)
    return reply(status=204)

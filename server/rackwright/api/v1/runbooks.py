# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Runbooks and their traits (contract: api.yaml, runbooks)."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.collections import CHOICE, FIELDS, PAGING, created, listing, show
from rackwright.api.deps import Arg, Args, CallDep, checked_ident, reply
from rackwright.api.documents import creates, lists, patches, shows, takes
from rackwright.api.kinds import BOOLEAN, TRAIT, TRAITS
from rackwright.api.patch import changes
from rackwright.api.routing import Router
from rackwright.api.schemas.runbook import RUNBOOK, TRAITS_SINCE
from rackwright.api.versions import since
from rackwright.domain.errors import Invalid
from rackwright.services import runbooks

router = Router(prefix="/v1/runbooks", tags=["runbooks"])

FILTERS: Args = {"project": Arg(BOOLEAN)}
_TRAITS: Args = {"traits": Arg(TRAITS, required=True)}
_READS = [since(92)]
_WRITES = [since(92, refusal=405)]
_BELOW = [since(TRAITS_SINCE)]


@router.get(
    "", summary="List runbooks", dependencies=_READS, openapi_extra=takes(FILTERS, PAGING, CHOICE) | lists(RUNBOOK)
)
def index(call: CallDep) -> Response:
    """Return one page of runbooks."""
    wanted = listing(call, RUNBOOK, FILTERS)
    own = wanted.filters.get("project", False)
    return wanted.answer(runbooks.listed(("uuid", *wanted.columns), context=call.context, page=wanted.page, own=own))


@router.post("", summary="Create a runbook", status_code=201, dependencies=_WRITES, openapi_extra=creates(RUNBOOK))
def create(call: CallDep) -> Response:
    """Create a runbook."""
    call.query({})
    made = runbooks.create(RUNBOOK.read(call.json(), call.minor), context=call.context)
    return created(call, RUNBOOK, made.model_dump())


@router.get("/{ident}", summary="Show a runbook", dependencies=_READS, openapi_extra=takes(FIELDS) | shows(RUNBOOK))
def one(call: CallDep, ident: str) -> Response:
    """Return one runbook."""
    return show(call, RUNBOOK, runbooks.get(checked_ident(ident), context=call.context).model_dump())


@router.patch("/{ident}", summary="Change a runbook", dependencies=_WRITES, openapi_extra=patches(RUNBOOK))
def patch(call: CallDep, ident: str) -> Response:
    """Change fields of a runbook with a JSON patch."""
    call.query({})
    found = runbooks.get(checked_ident(ident), context=call.context, lock=True)
    values = changes(RUNBOOK, found.model_dump(), call.json(), call.minor)
    runbooks.update(found, values, context=call.context)
    return show(call, RUNBOOK, found.model_dump(), {})


@router.delete("/{ident}", summary="Remove a runbook", status_code=204, dependencies=_WRITES)
def delete(call: CallDep, ident: str) -> Response:
    """Remove a runbook."""
    call.query({})
    runbooks.delete(checked_ident(ident), context=call.context)
    return reply(status=204)


@router.get("/{ident}/traits", summary="List the traits of a runbook", dependencies=_BELOW)
def traits(call: CallDep, ident: str) -> Response:
    """Return the traits of a runbook."""
    call.query({})
    return reply({"traits": runbooks.get(checked_ident(ident), context=call.context).traits})


@router.put(
    "/{ident}/traits",
    summary="Replace the traits of a runbook",
    status_code=204,
    dependencies=_BELOW,
    openapi_extra=takes(body=_TRAITS),
)
def replace_traits(call: CallDep, ident: str) -> Response:
    """Give a runbook exactly these traits."""
    wanted = call.arguments(_TRAITS)["traits"]
    runbooks.set_traits(
        runbooks.get(checked_ident(ident), context=call.context, lock=True), wanted, context=call.context
    )
    return reply(status=204)


@router.delete("/{ident}/traits", summary="Remove all traits of a runbook", status_code=204, dependencies=_BELOW)
def clear_traits(call: CallDep, ident: str) -> Response:
    """Remove all traits of a runbook."""
    call.query({})
    runbooks.set_traits(runbooks.get(checked_ident(ident), context=call.context, lock=True), (), context=call.context)
    return reply(status=204)


@router.put("/{ident}/traits/{trait}", summary="Add a trait to a runbook", status_code=204, dependencies=_BELOW)
def add_trait(call: CallDep, ident: str, trait: str) -> Response:
    """Add one trait to a runbook."""
    if call.json():
        raise Invalid("Adding one trait takes no body; the name stands in the path.")
    found = runbooks.get(checked_ident(ident), context=call.context, lock=True)
    wanted = TRAIT.read(trait, "trait")
    runbooks.set_traits(found, (*found.traits, wanted), context=call.context)
    return reply(status=204, location=f"{call.url}/v1/runbooks/{ident}/traits/{trait}")


@router.delete("/{ident}/traits/{trait}", summary="Remove a trait of a runbook", status_code=204, dependencies=_BELOW)
def remove_trait(call: CallDep, ident: str, trait: str) -> Response:
    """Remove one trait of a runbook; one that it has not is no error."""
    call.query({})
    found = runbooks.get(checked_ident(ident), context=call.context, lock=True)
    runbooks.set_traits(found, set(found.traits) - {trait}, context=call.context)
    return reply(status=204)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Runbooks and their traits (contract: api.yaml, runbooks)."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.deps import Arg, Args, CallDep, checked_ident, reply
from rackwright.api.documents import takes
from rackwright.api.endpoints import Endpoints
from rackwright.api.kinds import BOOLEAN, TRAIT, TRAITS
from rackwright.api.routing import Router
from rackwright.api.schemas.runbook import RUNBOOK, TRAITS_SINCE
from rackwright.api.versions import since
from rackwright.domain.errors import Invalid
from rackwright.services import runbooks

router = Router(tags=["runbooks"])

FILTERS: Args = {"project": Arg(BOOLEAN)}
_TRAITS: Args = {"traits": Arg(TRAITS, required=True)}
_BELOW = [since(TRAITS_SINCE)]


Endpoints(resource=RUNBOOK, service=runbooks, filters=FILTERS, first=92).join(router)


@router.get("/v1/runbooks/{ident}/traits", summary="List the traits of a runbook", dependencies=_BELOW)
def traits(call: CallDep, ident: str) -> Response:
    """Return the traits of a runbook."""
    call.query({})
    return reply({"traits": runbooks.get(checked_ident(ident), context=call.context).traits})


@router.put(
    "/v1/runbooks/{ident}/traits",
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


@router.delete(
    "/v1/runbooks/{ident}/traits", summary="Remove all traits of a runbook", status_code=204, dependencies=_BELOW
)
def clear_traits(call: CallDep, ident: str) -> Response:
    """Remove all traits of a runbook."""
    call.query({})
    runbooks.set_traits(runbooks.get(checked_ident(ident), context=call.context, lock=True), (), context=call.context)
    return reply(status=204)


@router.put(
    "/v1/runbooks/{ident}/traits/{trait}", summary="Add a trait to a runbook", status_code=204, dependencies=_BELOW
)
def add_trait(call: CallDep, ident: str, trait: str) -> Response:
    """Add one trait to a runbook."""
    if call.json(needed=False):
        raise Invalid("Adding one trait takes no body; the name stands in the path.")
    found = runbooks.get(checked_ident(ident), context=call.context, lock=True)
    wanted = TRAIT.read(trait, "trait")
    runbooks.set_traits(found, (*found.traits, wanted), context=call.context)
    return reply(status=204, location=f"{call.url}/v1/runbooks/{ident}/traits/{trait}")


@router.delete(
    "/v1/runbooks/{ident}/traits/{trait}", summary="Remove a trait of a runbook", status_code=204, dependencies=_BELOW
)
def remove_trait(call: CallDep, ident: str, trait: str) -> Response:
    """Remove one trait of a runbook; one that it has not is no error."""
    call.query({})
    found = runbooks.get(checked_ident(ident), context=call.context, lock=True)
    runbooks.set_traits(found, set(found.traits) - {trait}, context=call.context)
    return reply(status=204)

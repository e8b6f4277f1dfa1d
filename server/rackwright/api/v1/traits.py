# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The traits of a node."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.deps import Arg, Args, CallDep, checked_ident, reply
from rackwright.api.documents import takes
from rackwright.api.kinds import TRAIT, TRAITS
from rackwright.api.routing import Router
from rackwright.api.versions import since
from rackwright.domain.errors import Invalid
from rackwright.services import traits

router = Router(prefix="/v1/nodes/{ident}/traits", tags=["node traits"])

_SINCE = 37
_TRAITS: Args = {"traits": Arg(TRAITS, required=True)}
_WRITES, _REMOVES = [since(_SINCE, refusal=405)], [since(_SINCE)]


@router.get("", summary="List the traits of a node", dependencies=[since(_SINCE, refusal=406)])
def index(call: CallDep, ident: str) -> Response:
    """Return the traits of a node."""
    call.query({})
    return reply({"traits": traits.of(checked_ident(ident), context=call.context)})


@router.put("", summary="Replace the traits", status_code=204, dependencies=_WRITES, openapi_extra=takes(body=_TRAITS))
def replace(call: CallDep, ident: str) -> Response:
    """Give a node exactly these traits."""
    traits.replace(checked_ident(ident), call.arguments(_TRAITS)["traits"], context=call.context)
    return reply(status=204)


@router.delete("", summary="Remove all traits", status_code=204, dependencies=_REMOVES)
def clear(call: CallDep, ident: str) -> Response:
    """Remove all traits of a node."""
    call.query({})
    traits.replace(checked_ident(ident), (), context=call.context)
    return reply(status=204)


@router.put("/{trait}", summary="Add a trait", status_code=204, dependencies=_WRITES)
def add(call: CallDep, ident: str, trait: str) -> Response:
    """Add one trait to a node."""
    if call.json(needed=False):
        raise Invalid("Adding one trait takes no body; the name stands in the path.")
    traits.add(checked_ident(ident), TRAIT.read(trait, "trait"), context=call.context)
    return reply(status=204, location=f"{call.url}/v1/nodes/{ident}/traits/{trait}")


@router.delete("/{trait}", summary="Remove a trait", status_code=204, dependencies=_REMOVES)
def remove(call: CallDep, ident: str, trait: str) -> Response:
    """Remove one trait of a node."""
    call.query({})
    traits.remove(checked_ident(ident), trait, context=call.context)
    return reply(status=204)

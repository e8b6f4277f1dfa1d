# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Allocations, and the allocation of a node (contract: api.yaml, allocations)."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.collections import FIELDS, PAGING, created, listing, show
from rackwright.api.deps import Arg, Args, Call, CallDep, checked_ident, reply
from rackwright.api.documents import creates, lists, patches, shows, takes
from rackwright.api.kinds import IDENT, TEXT, choice
from rackwright.api.patch import changes
from rackwright.api.routing import Router
from rackwright.api.schemas.allocation import ALLOCATION
from rackwright.api.versions import since
from rackwright.domain.errors import Invalid, NodeNotFound
from rackwright.services import allocations
from rackwright.store.allocation import Allocation, AllocationState

router = Router(tags=["allocations"])

FILTERS: Args = {
    "node": Arg(IDENT),
    "resource_class": Arg(TEXT),
    "state": Arg(choice(*AllocationState)),
    "owner": Arg(TEXT, 60),
}
_READS = [since(52)]
_WRITES = [since(52, refusal=405)]
_PATCHES = [since(57, refusal=405)]


@router.get(
    "/v1/allocations",
    summary="List allocations",
    dependencies=_READS,
    openapi_extra=takes(FILTERS, PAGING, FIELDS) | lists(ALLOCATION),
)
def index(call: CallDep) -> Response:
    """Return one page of allocations, always with all fields unless the client chooses some."""
    wanted = listing(call, ALLOCATION, {**FILTERS, **FIELDS}, detail=True)
    columns = ("uuid", *wanted.columns)
    rows = allocations.listed(columns, context=call.context, filters=wanted.filters, page=wanted.page)
    return wanted.answer(rows)


@router.post(
    "/v1/allocations",
    summary="Ask for a node",
    status_code=201,
    dependencies=_WRITES,
    openapi_extra=creates(ALLOCATION),
)
def create(call: CallDep) -> Response:
    """Create an allocation; the conductor finds a node for it."""
    call.query({})
    made = allocations.create(ALLOCATION.read(call.json(), call.minor), context=call.context)
    return created(call, ALLOCATION, made.model_dump())


@router.get(
    "/v1/allocations/{ident}",
    summary="Show an allocation",
    dependencies=_READS,
    openapi_extra=takes(FIELDS) | shows(ALLOCATION),
)
def one(call: CallDep, ident: str) -> Response:
    """Return one allocation."""
    return show(call, ALLOCATION, allocations.get(checked_ident(ident), context=call.context).model_dump())


@router.patch(
    "/v1/allocations/{ident}",
    summary="Change an allocation",
    dependencies=_PATCHES,
    openapi_extra=patches(ALLOCATION),
)
def patch(call: CallDep, ident: str) -> Response:
    """Change name and extra of an allocation with a JSON patch."""
    call.query({})
    found = allocations.get(checked_ident(ident), context=call.context, lock=True)
    values = changes(ALLOCATION, found.model_dump(), call.json(), call.minor)
    allocations.update(found, values, context=call.context)
    return show(call, ALLOCATION, found.model_dump(), {})


@router.delete("/v1/allocations/{ident}", summary="Give a node back", status_code=204, dependencies=_WRITES)
def delete(call: CallDep, ident: str) -> Response:
    """Remove an allocation; its node is free again."""
    call.query({})
    found = allocations.get(checked_ident(ident), context=call.context, lock=True)
    allocations.delete(found, context=call.context)
    return reply(status=204)


def _of(ident: str, call: Call) -> Allocation:
    """Return the allocation that has a node; an unknown node is a wrong argument here, as it is of the list."""
    try:
        return allocations.of_node(checked_ident(ident), context=call.context)
    except NodeNotFound as error:
        raise Invalid(error.message) from error


@router.get(
    "/v1/nodes/{ident}/allocation",
    summary="Show the allocation of a node",
    dependencies=_READS,
    openapi_extra=takes(FIELDS) | shows(ALLOCATION),
)
def of_node(call: CallDep, ident: str) -> Response:
    """Return the allocation that has a node."""
    return show(call, ALLOCATION, _of(ident, call).model_dump())


@router.delete(
    "/v1/nodes/{ident}/allocation", summary="Remove the allocation of a node", status_code=204, dependencies=_READS
)
def delete_of_node(call: CallDep, ident: str) -> Response:
    """Remove the allocation that has a node."""
    call.query({})
    found = _of(ident, call)
    allocations.delete(found, context=call.context)
    return reply(status=204)

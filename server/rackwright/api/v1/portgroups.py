# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Port groups: lists (also those of one node), creation, one group (contract: api.yaml, port groups)."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.collections import CHOICE, FIELDS, PAGING, created, listing, show
from rackwright.api.deps import Arg, Args, Call, CallDep, checked_ident, reply
from rackwright.api.documents import creates, lists, patches, shows, takes
from rackwright.api.kinds import IDENT, MAC, WORDS
from rackwright.api.patch import changes
from rackwright.api.routing import Router
from rackwright.api.schemas.portgroup import PORTGROUP
from rackwright.api.versions import since
from rackwright.domain.errors import Invalid
from rackwright.services import portgroups

router = Router(tags=["port groups"], dependencies=[since(23)])

FILTERS: Args = {
    "node": Arg(IDENT),
    "address": Arg(MAC),
    "shard": Arg(WORDS, 106),
    "conductor_groups": Arg(WORDS),
}
_OF_NODE: Args = {"address": FILTERS["address"]}


def _listed(call: Call, args: Args, *, detail: bool | None = None, node: str | None = None) -> Response:
    wanted = listing(call, PORTGROUP, args, detail=detail)
    filters = dict(wanted.filters)
    if len(filters) > 1:
        raise Invalid(f"{', '.join(filters)} exclude each other as filters of port groups; give one of them.")
    if node is not None:
        filters["node"] = node
    rows = portgroups.listed(("uuid", *wanted.columns), context=call.context, filters=filters, page=wanted.page)
    return wanted.answer(rows)


@router.get(
    "/v1/portgroups", summary="List port groups", openapi_extra=takes(FILTERS, PAGING, CHOICE) | lists(PORTGROUP)
)
def index(call: CallDep) -> Response:
    """Return one page of port groups."""
    return _listed(call, FILTERS)


@router.get(
    "/v1/portgroups/detail",
    summary="List port groups with all fields",
    openapi_extra=takes(FILTERS, PAGING) | lists(PORTGROUP),
)
def detail(call: CallDep) -> Response:
    """Return one page of port groups with all fields."""
    return _listed(call, FILTERS, detail=True)


@router.get(
    "/v1/nodes/{ident}/portgroups",
    summary="List the port groups of a node",
    dependencies=[since(24)],
    openapi_extra=takes(_OF_NODE, PAGING, CHOICE) | lists(PORTGROUP),
)
def of_node(call: CallDep, ident: str) -> Response:
    """Return one page of a node's port groups."""
    return _listed(call, _OF_NODE, node=checked_ident(ident))


@router.get(
    "/v1/nodes/{ident}/portgroups/detail",
    summary="List the port groups of a node with all fields",
    dependencies=[since(24)],
    openapi_extra=takes(_OF_NODE, PAGING) | lists(PORTGROUP),
)
def of_node_in_detail(call: CallDep, ident: str) -> Response:
    """Return one page of a node's port groups with all fields."""
    return _listed(call, _OF_NODE, detail=True, node=checked_ident(ident))


@router.post("/v1/portgroups", summary="Create a port group", status_code=201, openapi_extra=creates(PORTGROUP))
def create(call: CallDep) -> Response:
    """Create a port group."""
    call.query({})
    group = portgroups.create(PORTGROUP.read(call.json(), call.minor), context=call.context)
    return created(call, PORTGROUP, portgroups.row(group, context=call.context))


@router.get("/v1/portgroups/{ident}", summary="Show a port group", openapi_extra=takes(FIELDS) | shows(PORTGROUP))
def one(call: CallDep, ident: str) -> Response:
    """Return one port group."""
    group = portgroups.get(checked_ident(ident), context=call.context)
    return show(call, PORTGROUP, portgroups.row(group, context=call.context))


@router.patch("/v1/portgroups/{ident}", summary="Change a port group", openapi_extra=patches(PORTGROUP))
def patch(call: CallDep, ident: str) -> Response:
    """Change fields of a port group with a JSON patch."""
    call.query({})
    group = portgroups.get(checked_ident(ident), context=call.context, lock=True)
    values = changes(PORTGROUP, portgroups.row(group, context=call.context), call.json(), call.minor)
    portgroups.update(group, values, context=call.context)
    return show(call, PORTGROUP, portgroups.row(group, context=call.context), {})


@router.delete("/v1/portgroups/{ident}", summary="Remove a port group", status_code=204)
def delete(call: CallDep, ident: str) -> Response:
    """Remove a port group."""
    call.query({})
    portgroups.delete(checked_ident(ident), context=call.context)
    return reply(status=204)

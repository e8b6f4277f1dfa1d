# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Ports: lists (also those of one node), creation, one port (contract: api.yaml, ports)."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.collections import CHOICE, FIELDS, PAGING, listing, show
from rackwright.api.deps import Arg, Args, Call, CallDep, checked_ident, reply
from rackwright.api.documents import creates, patches, takes
from rackwright.api.errors import BadIdent
from rackwright.api.kinds import IDENT, MAC, TEXT, UUID_TEXT, WORDS, is_uuid
from rackwright.api.patch import changes
from rackwright.api.routing import Router
from rackwright.api.schemas.port import PORT
from rackwright.domain.errors import Forbidden, Invalid
from rackwright.services import ports

router = Router(tags=["ports"])

FILTERS: Args = {
    "node": Arg(IDENT),
    "node_uuid": Arg(UUID_TEXT),
    "address": Arg(MAC),
    "portgroup": Arg(IDENT, 24),
    "shard": Arg(WORDS, 82),
    "description_contains": Arg(TEXT, 97),
    "conductor_groups": Arg(WORDS),
}
_OF_NODE: Args = {name: arg for name, arg in FILTERS.items() if name not in ("node", "node_uuid", "portgroup", "shard")}
_SCOPES = ("node", "node_uuid", "portgroup", "shard")
_NOT_WITH_GROUPS = {"node", "node_uuid", "portgroup", "address"}


def _listed(call: Call, args: Args, *, detail: bool | None = None, node: str | None = None) -> Response:
    wanted = listing(call, PORT, args, detail=detail)
    filters = dict(wanted.filters)
    if sum(name in filters for name in _SCOPES) > 1:
        raise Forbidden("node, portgroup and shard exclude each other as filters of ports; give one of them.")
    if "conductor_groups" in filters and filters.keys() & _NOT_WITH_GROUPS:
        raise Invalid("conductor_groups cannot be combined with node, portgroup or address.")
    if "portgroup" in filters:
        filters["portgroup_uuid"] = filters.pop("portgroup")
    node = node or filters.pop("node_uuid", None)
    if node is not None:
        filters["node"] = node
    rows = ports.listed(("uuid", *wanted.columns), context=call.context, filters=filters, page=wanted.page)
    return wanted.answer(rows)


@router.get("/v1/ports", summary="List ports", openapi_extra=takes(FILTERS, PAGING, CHOICE))
def index(call: CallDep) -> Response:
    """Return one page of ports."""
    return _listed(call, FILTERS)


@router.get("/v1/ports/detail", summary="List ports with all fields", openapi_extra=takes(FILTERS, PAGING))
def detail(call: CallDep) -> Response:
    """Return one page of ports with all fields."""
    return _listed(call, FILTERS, detail=True)


@router.get("/v1/nodes/{ident}/ports", summary="List the ports of a node", openapi_extra=takes(_OF_NODE, CHOICE))
def of_node(call: CallDep, ident: str) -> Response:
    """Return one page of a node's ports."""
    return _listed(call, _OF_NODE, node=checked_ident(ident))


@router.get("/v1/nodes/{ident}/ports/detail", summary="List the ports of a node with all fields")
def of_node_in_detail(call: CallDep, ident: str) -> Response:
    """Return one page of a node's ports with all fields."""
    return _listed(call, _OF_NODE, detail=True, node=checked_ident(ident))


@router.post("/v1/ports", summary="Create a port", status_code=201, openapi_extra=creates(PORT))
def create(call: CallDep) -> Response:
    """Create a port."""
    call.query({})
    values = PORT.read(call.json(), call.minor)
    if ("node_uuid" in values) == ("node_ident" in values):
        raise Invalid("A port needs its node: give either node_uuid or (from 1.94) node_ident.")
    port = ports.create(values, context=call.context)
    answer = show(call, PORT, ports.row(port, context=call.context), {})
    answer.status_code = 201
    answer.headers["Location"] = f"{call.url}/v1/ports/{port.uuid}"
    return answer


def _checked(ident: str) -> str:
    """Return a UUID, a name or a MAC address of a path."""
    return ident.lower() if ":" in ident else checked_ident(ident)


@router.get("/v1/ports/{ident}", summary="Show a port", openapi_extra=takes(FIELDS))
def one(call: CallDep, ident: str) -> Response:
    """Return one port."""
    port = ports.get(_checked(ident), context=call.context)
    return show(call, PORT, ports.row(port, context=call.context))


@router.patch("/v1/ports/{ident}", summary="Change a port", openapi_extra=patches(PORT))
def patch(call: CallDep, ident: str) -> Response:
    """Change fields of a port with a JSON patch."""
    call.query({})
    port = ports.get(_checked(ident), context=call.context, lock=True)
    values = changes(PORT, ports.row(port, context=call.context), call.json(), call.minor)
    ports.update(port, values, context=call.context)
    return show(call, PORT, ports.row(port, context=call.context), {})


@router.delete("/v1/ports/{ident}", summary="Remove a port", status_code=204)
def delete(call: CallDep, ident: str) -> Response:
    """Remove a port."""
    call.query({})
    if not is_uuid(ident):
        raise BadIdent(f"{ident} is not a UUID; a port is removed by its UUID.")
    ports.delete(ident, context=call.context)
    return reply(status=204)

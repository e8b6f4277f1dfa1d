# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Ports: lists (also those of one node), creation, one port (contract: api.yaml, ports)."""

from __future__ import annotations

from typing import Any

from fastapi import Response

from rackwright.api.collections import CHOICE, PAGING, listing
from rackwright.api.deps import Arg, Args, Call, CallDep, checked_ident
from rackwright.api.documents import lists, takes
from rackwright.api.endpoints import Endpoints
from rackwright.api.errors import BadIdent
from rackwright.api.kinds import IDENT, MAC, TEXT, UUID_TEXT, WORDS, is_uuid
from rackwright.api.routing import Router
from rackwright.api.schemas.port import PORT
from rackwright.api.versions import since
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
_SCOPES = ("node", "node_uuid", "portgroup", "shard")
_BELOW: Args = {name: arg for name, arg in FILTERS.items() if name not in (*_SCOPES, "conductor_groups")}
_NOT_WITH_GROUPS = {"node", "node_uuid", "portgroup", "address"}


def _listed(call: Call, args: Args, *, detail: bool | None = None, **within: str) -> Response:
    """Return one page of ports; ``within`` is the node or portgroup below whose path they are listed."""
    wanted = listing(call, PORT, args, detail=detail)
    filters = dict(wanted.filters)
    if sum(name in filters for name in _SCOPES) > 1:
        raise Forbidden("node, portgroup and shard exclude each other as filters of ports; give one of them.")
    if "conductor_groups" in filters and filters.keys() & _NOT_WITH_GROUPS:
        raise Invalid("conductor_groups cannot be combined with node, portgroup or address.")
    if "node_uuid" in filters:
        filters["node"] = filters.pop("node_uuid")
    filters |= within
    rows = ports.listed(("uuid", *wanted.columns), context=call.context, filters=filters, page=wanted.page)
    return wanted.answer(rows)


class _Endpoints(Endpoints):
    """A port is made below a node, and removed by its UUID only."""

    def page(self, call: Call, *, detail: bool | None = None) -> Response:
        """Return one page of them."""
        return _listed(call, self.filters, detail=detail)

    def read(self, call: Call) -> dict[str, Any]:
        """Return the values of a new one."""
        values = super().read(call)
        if (values.get("node_uuid") is None) == (values.get("node_ident") is None):
            raise Invalid("A port needs its node: give either node_uuid or (from 1.94) node_ident.")
        return values

    def delete(self, call: Call, ident: str) -> Response:
        """Remove one."""
        if not is_uuid(ident):
            raise BadIdent(f"{ident} is not a UUID; a port is removed by its UUID.")
        return super().delete(call, ident)


_Endpoints(resource=PORT, service=ports, filters=FILTERS, in_detail=True, row=ports.row).join(router)


@router.get(
    "/v1/nodes/{ident}/ports",
    summary="List the ports of a node",
    openapi_extra=takes(_BELOW, PAGING, CHOICE) | lists(PORT),
)
def of_node(call: CallDep, ident: str) -> Response:
    """Return one page of a node's ports."""
    return _listed(call, _BELOW, node=checked_ident(ident))


@router.get(
    "/v1/nodes/{ident}/ports/detail",
    summary="List the ports of a node with all fields",
    openapi_extra=takes(_BELOW, PAGING) | lists(PORT),
)
def of_node_in_detail(call: CallDep, ident: str) -> Response:
    """Return one page of a node's ports with all fields."""
    return _listed(call, _BELOW, detail=True, node=checked_ident(ident))


@router.get(
    "/v1/portgroups/{ident}/ports",
    summary="List the ports of a port group",
    dependencies=[since(24)],
    openapi_extra=takes(_BELOW, PAGING, CHOICE) | lists(PORT),
)
def of_group(call: CallDep, ident: str) -> Response:
    """Return one page of a port group's ports."""
    return _listed(call, _BELOW, portgroup=checked_ident(ident))


@router.get(
    "/v1/portgroups/{ident}/ports/detail",
    summary="List the ports of a port group with all fields",
    dependencies=[since(24)],
    openapi_extra=takes(_BELOW, PAGING) | lists(PORT),
)
def of_group_in_detail(call: CallDep, ident: str) -> Response:
    """Return one page of a port group's ports with all fields."""
    return _listed(call, _BELOW, detail=True, portgroup=checked_ident(ident))

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Port groups: lists (also those of one node), creation, one group (contract: api.yaml, port groups)."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.collections import CHOICE, PAGING, listing
from rackwright.api.deps import Arg, Args, Call, CallDep, checked_ident
from rackwright.api.documents import lists, takes
from rackwright.api.endpoints import Endpoints
from rackwright.api.kinds import IDENT, MAC, WORDS
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


class _Endpoints(Endpoints):
    """Port groups take one filter at a time."""

    def page(self, call: Call, *, detail: bool | None = None) -> Response:
        """Return one page of them."""
        return _listed(call, self.filters, detail=detail)


_Endpoints(resource=PORTGROUP, service=portgroups, filters=FILTERS, in_detail=True, row=portgroups.row).join(router)


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

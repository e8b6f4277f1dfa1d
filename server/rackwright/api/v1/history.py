# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What happened to a node, and what its inspection found."""

from __future__ import annotations

from typing import Any

from fastapi import Response

from rackwright.api.collections import PAGING, listing
from rackwright.api.deps import Arg, Args, CallDep, checked_ident, reply
from rackwright.api.documents import takes
from rackwright.api.kinds import BOOLEAN
from rackwright.api.routing import Router
from rackwright.api.schemas.history import HISTORY
from rackwright.api.versions import since
from rackwright.services import history, nodes

router = Router(prefix="/v1/nodes/{ident}", tags=["node history"])

_SINCE, _INVENTORY_SINCE = 78, 81
_LONGEST_EVENT, _CUT_EVENT = 255, 251
_DETAIL: Args = {"detail": Arg(BOOLEAN)}


@router.get(
    "/history",
    summary="List what happened to a node",
    dependencies=[since(_SINCE)],
    openapi_extra=takes(PAGING, _DETAIL),
)
def index(call: CallDep, ident: str) -> Response:
    """Return one page of a node's history."""
    detail = call.query({**PAGING, **_DETAIL}).get("detail", False)
    wanted = listing(call, HISTORY, _DETAIL, detail=detail, sort_key="created_at")
    node = nodes.get(checked_ident(ident), context=call.context)
    rows = history.listed(node, wanted.columns, context=call.context, page=wanted.page)
    return wanted.answer([_row(row, node.uuid, whole=detail) for row in rows])


def _row(row: dict[str, Any], node_uuid: str, *, whole: bool) -> dict[str, Any]:
    event = row["event"]
    if not whole and event is not None and len(event) > _LONGEST_EVENT:
        event = f"{event[:_CUT_EVENT]}..."
    return row | {"node_uuid": node_uuid, "event": event}


@router.get("/history/{uuid}", summary="Show one entry of the history", dependencies=[since(_SINCE)])
def one(call: CallDep, ident: str, uuid: str) -> Response:
    """Return one entry in detail."""
    call.query({})
    node = nodes.get(checked_ident(ident), context=call.context)
    row = _row(history.get(node, uuid, context=call.context), node.uuid, whole=True)
    return reply(HISTORY.render(row, HISTORY.visible(call.minor), call.site))


@router.get("/inventory", summary="Show the inventory of a node", dependencies=[since(_INVENTORY_SINCE)])
def inventory(call: CallDep, ident: str) -> Response:
    """Return what the last inspection found."""
    call.query({})
    return reply(history.inventory_of(checked_ident(ident), context=call.context))

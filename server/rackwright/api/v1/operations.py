# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What this service tells beyond Ironic's API: the operations of a node, and where its time went."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.deps import CallDep, checked_ident, reply
from rackwright.api.routing import Router
from rackwright.services import operations

router = Router(prefix="/rackwright/v1/nodes/{ident}", tags=["operations"])


@router.get("/operations", summary="List the operations of a node, oldest first, with their timelines")
def index(call: CallDep, ident: str) -> Response:
    """Return every operation; each entry of a timeline holds until the next one, the last until ``finished_at``."""
    call.query({})
    return reply({"operations": operations.of_node(checked_ident(ident), context=call.context)})


@router.get("/timeline", summary="Tell where the time of a node went, what it waits for now, and until when")
def timeline(call: CallDep, ident: str) -> Response:
    """Return every operation as stretches of time, summed up by activity and by step, and what goes on now."""
    call.query({})
    return reply(operations.timeline_of(checked_ident(ident), context=call.context))

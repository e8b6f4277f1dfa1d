# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Where an agent asks which node it runs on. Open to everybody: agents have no credentials."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.deps import CallDep, reply
from rackwright.api.documents import takes
from rackwright.api.routing import PromptRouter
from rackwright.api.schemas.agent import LOOKUP, told
from rackwright.api.versions import since
from rackwright.services import agents

router = PromptRouter(prefix="/v1/lookup", tags=["agents"])

SINCE = 22


@router.get("", summary="Find the node of an agent", dependencies=[since(SINCE)], openapi_extra=takes(LOOKUP))
def lookup(call: CallDep) -> Response:
    """Return the node with these addresses or this UUID, and what its agent has to know."""
    given = call.query(LOOKUP)
    found = agents.lookup(given.get("addresses", ()), given.get("node_uuid"), context=call.context)
    return reply(told(found, call.site))

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Where an agent says that it is alive. Open to everybody: the token in the body proves the agent."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.deps import Arg, Args, CallDep, checked_ident, reply
from rackwright.api.documents import takes
from rackwright.api.kinds import IDENT
from rackwright.api.routing import PromptRouter
from rackwright.api.schemas.agent import HEARTBEAT
from rackwright.api.versions import since
from rackwright.services import agents
from rackwright.services.agents import Heartbeat

router = PromptRouter(prefix="/v1/heartbeat", tags=["agents"])

SINCE = 22
_NAMED: Args = {"node_ident": Arg(IDENT, required=True), **HEARTBEAT}


@router.post(
    "",
    summary="Tell that an agent is alive, its node in the body",
    status_code=202,
    dependencies=[since(SINCE)],
    openapi_extra=takes(body=_NAMED),
)
def heartbeat_of(call: CallDep) -> Response:
    """Record the heartbeat of the node that the body names."""
    given = call.arguments(_NAMED)
    agents.heartbeat(given.pop("node_ident"), Heartbeat(**given), context=call.context)
    return reply(status=202)


@router.post(
    "/{ident}",
    summary="Tell that an agent is alive",
    status_code=202,
    dependencies=[since(SINCE)],
    openapi_extra=takes(body=HEARTBEAT),
)
def heartbeat(call: CallDep, ident: str) -> Response:
    """Record the heartbeat and wake what waits for it."""
    agents.heartbeat(checked_ident(ident), Heartbeat(**call.arguments(HEARTBEAT)), context=call.context)
    return reply(status=202)

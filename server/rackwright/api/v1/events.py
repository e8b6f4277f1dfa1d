# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Events of other services (contract: api.yaml, events)."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.deps import Arg, Args, CallDep, reply
from rackwright.api.documents import takes
from rackwright.api.routing import Router
from rackwright.api.schemas.event import EVENTS
from rackwright.api.versions import since
from rackwright.services import events

router = Router(tags=["events"])

_BODY: Args = {"events": Arg(EVENTS, required=True)}


@router.post(
    "/v1/events",
    summary="Take events of other services",
    status_code=204,
    dependencies=[since(54)],
    openapi_extra=takes(body=_BODY),
)
def create(call: CallDep) -> Response:
    """Take events, which are logged."""
    events.take(call.arguments(_BODY)["events"], context=call.context)
    return reply(status=204)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What tells supervisors, load balancers and monitoring how the service is: probes, numbers, the fleet in short."""

from __future__ import annotations

from typing import Any

from fastapi import Response
from fastapi.responses import PlainTextResponse

from rackwright.api.deps import CallDep, reply
from rackwright.api.documents import answers
from rackwright.api.routing import Router
from rackwright.services import fleet, health, numbers

router = Router(tags=["health"])

_TEXT = {"type": "string"}
_READY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "ready": {"type": "boolean"},
        "checks": {"type": "object", "additionalProperties": _TEXT, "description": "ok, or what is wrong, by part."},
    },
    "required": ["ready", "checks"],
}
_NUMBERS = {"responses": {"200": {"description": "OK", "content": {"text/plain": {"schema": _TEXT}}}}}


@router.get("/healthz", summary="Tell that the API process is alive")
async def alive(call: CallDep) -> Response:
    """Answer without looking at anything else, and without credentials."""
    call.query({})
    return reply({"alive": True})


@router.get(
    "/readyz",
    summary="Tell whether database, migrations and a conductor are ready; 503 when not",
    openapi_extra={"responses": {**answers(_READY)["responses"], **answers(_READY, 503)["responses"]}},
)
def ready(call: CallDep) -> Response:
    """Return what each part says, without credentials."""
    call.query({})
    checks = health.checks(call.context)
    is_ready = all(text == health.OK for text in checks.values())
    return reply({"ready": is_ready, "checks": checks}, 200 if is_ready else 503)


@router.get(
    "/metrics",
    summary="Tell the numbers of this service in Prometheus' text format",
    response_class=PlainTextResponse,
    openapi_extra=_NUMBERS,
)
def metrics(call: CallDep) -> Response:
    """Return what the database says now, and what the processes of this state directory have noted."""
    call.query({})
    content, media_type = numbers.told(call.context)
    return Response(content, media_type=media_type)


@router.get("/rackwright/v1/fleet", summary="Count the nodes and operations by state, and name the conductors")
def counts(call: CallDep) -> Response:
    """Return the fleet in short: a few queries, however large it is."""
    call.query({})
    return reply(fleet.counted(call.context))

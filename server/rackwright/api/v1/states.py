# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The states of a node, and what changes them: power, provisioning, maintenance."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.deps import Arg, Args, CallDep, checked_ident, reply
from rackwright.api.documents import shows, takes
from rackwright.api.kinds import TEXT
from rackwright.api.routing import Router
from rackwright.api.schemas.node import STATES
from rackwright.api.schemas.provision import POWER, PROVISION
from rackwright.services import maintenance, nodes, power, provision

router = Router(prefix="/v1/nodes/{ident}", tags=["node states"])

_REASON: Args = {"reason": Arg(TEXT.or_null())}


def _accepted(call: CallDep, ident: str) -> Response:
    return reply(status=202, location=f"{call.url}/v1/nodes/{ident}/states")


@router.get("/states", summary="Show the states of a node", openapi_extra=shows(STATES))
def states(call: CallDep, ident: str) -> Response:
    """Return the states of a node."""
    call.query({})
    row = nodes.states(checked_ident(ident), context=call.context)
    return reply(STATES.render(row, STATES.visible(call.minor), call.site))


@router.put("/states/power", summary="Change the power", status_code=202, openapi_extra=takes(body=POWER))
def change_power(call: CallDep, ident: str) -> Response:
    """Start a power action."""
    given = call.arguments(POWER)
    power.change(checked_ident(ident), given["target"], timeout=given.get("timeout"), context=call.context)
    return _accepted(call, ident)


@router.put("/states/provision", summary="Send a verb to a node", status_code=202, openapi_extra=takes(body=PROVISION))
def change_provision(call: CallDep, ident: str) -> Response:
    """Start what a verb asks for."""
    given = call.arguments(PROVISION)
    provision.change(checked_ident(ident), given.pop("target"), given, context=call.context)
    return _accepted(call, ident)


@router.put("/maintenance", summary="Put a node into maintenance", status_code=202, openapi_extra=takes(body=_REASON))
def set_maintenance(call: CallDep, ident: str) -> Response:
    """Set the maintenance flag."""
    reason = call.arguments(_REASON).get("reason")
    maintenance.change(checked_ident(ident), True, reason, context=call.context)
    return reply(status=202)


@router.delete("/maintenance", summary="Take a node out of maintenance", status_code=202)
def clear_maintenance(call: CallDep, ident: str) -> Response:
    """Clear the maintenance flag, its reason and the fault."""
    call.query({})
    maintenance.change(checked_ident(ident), False, context=call.context)
    return reply(status=202)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The console of a node; clients also put the node at the end of the path."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.deps import Arg, Args, CallDep, checked_ident, reply
from rackwright.api.documents import takes
from rackwright.api.kinds import BOOLEAN
from rackwright.api.routing import Router
from rackwright.services import console

router = Router(prefix="/v1/nodes", tags=["node states"])

_CONSOLE: Args = {"enabled": Arg(BOOLEAN, required=True)}
_PATHS = ("/{ident}/states/console", "/states/console/{ident}")


@router.get(_PATHS[0], summary="Show the console")
@router.get(_PATHS[1], summary="Show the console", include_in_schema=False)
def show(call: CallDep, ident: str) -> Response:
    """Return whether the console is on, and how to reach it."""
    call.query({})
    return reply(console.show(checked_ident(ident), context=call.context))


@router.put(_PATHS[0], summary="Switch the console", status_code=202, openapi_extra=takes(body=_CONSOLE))
@router.put(_PATHS[1], summary="Switch the console", status_code=202, include_in_schema=False)
def change(call: CallDep, ident: str) -> Response:
    """Switch the console on or off."""
    console.change(checked_ident(ident), call.arguments(_CONSOLE)["enabled"], context=call.context)
    return reply(status=202, location=f"{call.url}/v1/nodes/{ident}/states/console")

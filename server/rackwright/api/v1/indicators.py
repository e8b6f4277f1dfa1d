# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The indicators of a node: lights by which people find the machine."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from fastapi import Response

from rackwright.api.deps import Arg, Args, CallDep, checked_ident, reply
from rackwright.api.documents import takes
from rackwright.api.kinds import TEXT
from rackwright.api.links import pair
from rackwright.api.routing import Router
from rackwright.api.versions import since
from rackwright.services import indicators

router = Router(prefix="/v1/nodes/{ident}/management/indicators", tags=["node management"])

_STATE: Args = {"state": Arg(TEXT, required=True)}
_SINCE = 63


@router.get("", summary="List the indicators of a node")
async def index(call: CallDep, ident: str) -> Response:
    """Return the indicators, as the BMC tells them."""
    call.query({})
    found = await indicators.listed(checked_ident(ident), context=call.context)
    return reply({"indicators": [_shown(call, ident, each) for each in found]})


def _shown(call: CallDep, ident: str, each: dict[str, Any]) -> dict[str, Any]:
    name = f"{each['name']}@{each['component']}"
    return {
        "name": name,
        "component": each["component"],
        "readonly": each["readonly"],
        "states": sorted(each["states"]),
        "links": pair(call.url, f"nodes/{ident}/management/indicators/{quote(name, safe='@:')}"),
    }


@router.get("/{name}", summary="Show the state of an indicator", dependencies=[since(_SINCE)])
async def one(call: CallDep, ident: str, name: str) -> Response:
    """Return the state of the indicator <name>@<component>."""
    call.query({})
    return reply({"state": await indicators.state(checked_ident(ident), name, context=call.context)})


@router.put(
    "/{name}",
    summary="Set the state of an indicator",
    status_code=204,
    dependencies=[since(_SINCE)],
    openapi_extra=takes(body=_STATE),
)
async def change(call: CallDep, ident: str, name: str) -> Response:
    """Bring the indicator <name>@<component> into a state."""
    wanted = call.arguments(_STATE)["state"]
    await indicators.change(checked_ident(ident), name, wanted, context=call.context)
    return reply(status=204)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Drivers: the hardware types that running conductors serve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import Response

from rackwright.api.collections import show, whole
from rackwright.api.deps import Arg, Args, CallDep, reply
from rackwright.api.documents import takes
from rackwright.api.kinds import BOOLEAN, WORDS, choice
from rackwright.api.routing import Router
from rackwright.api.schemas.driver import DRIVER
from rackwright.services import drivers

router = Router(prefix="/v1/drivers", tags=["drivers"])

_FIELDS: Args = {"fields": Arg(WORDS, 77)}
_LIST: Args = {"type": Arg(choice("classic", "dynamic"), 30), "detail": Arg(BOOLEAN, 30), **_FIELDS}


@router.get("", summary="List drivers", openapi_extra=takes(_LIST))
def index(call: CallDep) -> Response:
    """Return all drivers that running conductors serve."""

    def rows(given: Mapping[str, Any]) -> list[dict[str, Any]]:
        return [] if given.get("type") == "classic" else drivers.listed(context=call.context)

    return whole(call, DRIVER, _LIST, rows)


@router.get("/{name}", summary="Show a driver", openapi_extra=takes(_FIELDS))
def one(call: CallDep, name: str) -> Response:
    """Return one driver."""
    return show(call, DRIVER, drivers.get(name, context=call.context), _FIELDS)


@router.get("/{name}/properties", summary="List the keys of driver_info that a driver reads")
def properties(call: CallDep, name: str) -> Response:
    """Return the description of each key."""
    call.query({})
    return reply(drivers.properties(name, context=call.context))

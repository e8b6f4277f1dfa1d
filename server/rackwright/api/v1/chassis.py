# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Chassis: lists, creation, one chassis, its nodes (contract: api.yaml, chassis)."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.collections import CHOICE, PAGING
from rackwright.api.deps import Args, CallDep, checked_uuid
from rackwright.api.documents import takes
from rackwright.api.endpoints import Endpoints
from rackwright.api.routing import Router
from rackwright.api.schemas.chassis import CHASSIS
from rackwright.api.v1 import nodes
from rackwright.services import chassis

router = Router(tags=["chassis"])

_OF_CHASSIS: Args = {name: arg for name, arg in nodes.FILTERS.items() if name != "chassis_uuid"}


Endpoints(resource=CHASSIS, service=chassis, many="chassis", ident="uuid", in_detail=True).join(router)


@router.get(
    "/v1/chassis/{uuid}/nodes", summary="List the nodes of a chassis", openapi_extra=takes(_OF_CHASSIS, PAGING, CHOICE)
)
def of_chassis(call: CallDep, uuid: str) -> Response:
    """Return one page of the nodes of a chassis."""
    found = chassis.get(checked_uuid(uuid), context=call.context)
    return nodes.listed(call, _OF_CHASSIS, chassis=found.uuid)


@router.get(
    "/v1/chassis/{uuid}/nodes/detail",
    summary="List the nodes of a chassis with all fields",
    openapi_extra=takes(_OF_CHASSIS, PAGING),
)
def of_chassis_in_detail(call: CallDep, uuid: str) -> Response:
    """Return one page of the nodes of a chassis with all fields."""
    found = chassis.get(checked_uuid(uuid), context=call.context)
    return nodes.listed(call, _OF_CHASSIS, detail=True, chassis=found.uuid)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Chassis: lists, creation, one chassis, its nodes (contract: api.yaml, chassis)."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.collections import CHOICE, FIELDS, PAGING, created, listing, show
from rackwright.api.deps import Args, Call, CallDep, checked_uuid, reply
from rackwright.api.documents import creates, lists, patches, shows, takes
from rackwright.api.patch import changes
from rackwright.api.routing import Router
from rackwright.api.schemas.chassis import CHASSIS
from rackwright.api.v1 import nodes
from rackwright.services import chassis

router = Router(prefix="/v1/chassis", tags=["chassis"])

_OF_CHASSIS: Args = {name: arg for name, arg in nodes.FILTERS.items() if name != "chassis_uuid"}


def _listed(call: Call, *, detail: bool | None = None) -> Response:
    wanted = listing(call, CHASSIS, {}, detail=detail)
    rows = chassis.listed(("uuid", *wanted.columns), context=call.context, page=wanted.page)
    return wanted.answer(rows)


@router.get("", summary="List chassis", openapi_extra=takes(PAGING, CHOICE) | lists(CHASSIS))
def index(call: CallDep) -> Response:
    """Return one page of chassis."""
    return _listed(call)


@router.get("/detail", summary="List chassis with all fields", openapi_extra=takes(PAGING) | lists(CHASSIS))
def detail(call: CallDep) -> Response:
    """Return one page of chassis with all fields."""
    return _listed(call, detail=True)


@router.post("", summary="Create a chassis", status_code=201, openapi_extra=creates(CHASSIS))
def create(call: CallDep) -> Response:
    """Create a chassis."""
    call.query({})
    made = chassis.create(CHASSIS.read(call.json(), call.minor), context=call.context)
    return created(call, CHASSIS, made.model_dump())


@router.get("/{uuid}", summary="Show a chassis", openapi_extra=takes(FIELDS) | shows(CHASSIS))
def one(call: CallDep, uuid: str) -> Response:
    """Return one chassis."""
    return show(call, CHASSIS, chassis.get(checked_uuid(uuid), context=call.context).model_dump())


@router.patch("/{uuid}", summary="Change a chassis", openapi_extra=patches(CHASSIS))
def patch(call: CallDep, uuid: str) -> Response:
    """Change fields of a chassis with a JSON patch."""
    call.query({})
    found = chassis.get(checked_uuid(uuid), context=call.context, lock=True)
    values = changes(CHASSIS, found.model_dump(), call.json(), call.minor)
    chassis.update(found, values, context=call.context)
    return show(call, CHASSIS, found.model_dump(), {})


@router.delete("/{uuid}", summary="Remove a chassis", status_code=204)
def delete(call: CallDep, uuid: str) -> Response:
    """Remove a chassis."""
    call.query({})
    chassis.delete(checked_uuid(uuid), context=call.context)
    return reply(status=204)


@router.get("/{uuid}/nodes", summary="List the nodes of a chassis", openapi_extra=takes(_OF_CHASSIS, PAGING, CHOICE))
def of_chassis(call: CallDep, uuid: str) -> Response:
    """Return one page of the nodes of a chassis."""
    found = chassis.get(checked_uuid(uuid), context=call.context)
    return nodes.listed(call, _OF_CHASSIS, chassis=found.uuid)


@router.get(
    "/{uuid}/nodes/detail",
    summary="List the nodes of a chassis with all fields",
    openapi_extra=takes(_OF_CHASSIS, PAGING),
)
def of_chassis_in_detail(call: CallDep, uuid: str) -> Response:
    """Return one page of the nodes of a chassis with all fields."""
    found = chassis.get(checked_uuid(uuid), context=call.context)
    return nodes.listed(call, _OF_CHASSIS, detail=True, chassis=found.uuid)

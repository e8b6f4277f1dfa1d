# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The RAID configuration of a node, and what can be said of its logical disks."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.deps import CallDep, checked_ident, reply
from rackwright.api.routing import Router
from rackwright.api.schemas.raid import LOGICAL_DISK, RAID
from rackwright.api.versions import since
from rackwright.services import raid

router = Router(prefix="/v1", tags=["RAID"], dependencies=[since(12, refusal=406)])

_DOCUMENT = {"requestBody": {"content": {"application/json": {"schema": RAID.schema}}}}


@router.put(
    "/nodes/{ident}/states/raid",
    summary="Set the RAID configuration that the RAID steps build",
    status_code=204,
    openapi_extra=_DOCUMENT,
)
def change(call: CallDep, ident: str) -> Response:
    """Store the RAID configuration; an empty object clears it."""
    call.query({})
    wanted = RAID.read(call.json(), "target_raid_config")
    raid.change(checked_ident(ident), wanted, context=call.context)
    return reply(status=204)


@router.get("/drivers/{name}/raid/logical_disk_properties", summary="List what can be said of a logical disk")
def logical_disk_properties(call: CallDep, name: str) -> Response:
    """Return the description of each property of a logical disk."""
    call.query({})
    raid.check_driver(name, context=call.context)
    return reply({key: schema["description"] for key, schema in LOGICAL_DISK.items()})

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Questions to the BMC of a node: its boot device."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.deps import Arg, Args, CallDep, checked_ident, reply
from rackwright.api.documents import takes
from rackwright.api.kinds import BOOLEAN, choice
from rackwright.api.routing import Router
from rackwright.services import management

router = Router(prefix="/v1/nodes/{ident}/management", tags=["node management"])

DEVICES = ("pxe", "disk", "cdrom", "bios", "safe", "wanboot", "iscsiboot", "floppy", "uefihttp")
_DEVICE: Args = {"boot_device": Arg(choice(*DEVICES), required=True), "persistent": Arg(BOOLEAN)}


@router.get("/boot_device", summary="Show the boot device of a node")
async def boot_device(call: CallDep, ident: str) -> Response:
    """Return the boot device, as the BMC tells it."""
    call.query({})
    found = await management.ask(checked_ident(ident), "get_boot_device", context=call.context)
    return reply(found.get("boot_device", {"boot_device": None, "persistent": None}))


@router.put("/boot_device", summary="Set the boot device of a node", status_code=204, openapi_extra=takes(body=_DEVICE))
async def set_boot_device(call: CallDep, ident: str) -> Response:
    """Set the boot device."""
    args = {"persistent": False} | call.arguments(_DEVICE)
    await management.ask(checked_ident(ident), "set_boot_device", args, context=call.context)
    return reply(status=204)


@router.get("/boot_device/supported", summary="List the boot devices that a node offers")
async def supported_boot_devices(call: CallDep, ident: str) -> Response:
    """Return the boot devices that can be set."""
    call.query({})
    found = await management.ask(checked_ident(ident), "get_supported_boot_devices", context=call.context)
    return reply({"supported_boot_devices": found.get("supported_boot_devices", [])})

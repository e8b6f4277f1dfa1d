# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Questions to the BMC of a node: its boot device, and an interrupt; the node may stand at the end of the path."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.deps import Arg, Args, CallDep, checked_ident, reply
from rackwright.api.documents import takes
from rackwright.api.kinds import BOOLEAN, choice
from rackwright.api.routing import Router
from rackwright.api.versions import since
from rackwright.services import management

router = Router(prefix="/v1/nodes", tags=["node management"])

DEVICES = ("pxe", "disk", "cdrom", "bios", "safe", "wanboot", "iscsiboot", "floppy", "uefihttp")
_DEVICE: Args = {"boot_device": Arg(choice(*DEVICES), required=True), "persistent": Arg(BOOLEAN)}
_PATHS = ("/{ident}/management/boot_device", "/management/boot_device/{ident}")


@router.get(_PATHS[0], summary="Show the boot device of a node")
@router.get(_PATHS[1], summary="Show the boot device of a node", include_in_schema=False)
async def boot_device(call: CallDep, ident: str) -> Response:
    """Return the boot device, as the BMC tells it."""
    call.query({})
    found = await management.ask(checked_ident(ident), management.GET_BOOT_DEVICE, context=call.context)
    return reply(found.get("boot_device", {"boot_device": None, "persistent": None}))


@router.put(_PATHS[0], summary="Set the boot device of a node", status_code=204, openapi_extra=takes(body=_DEVICE))
@router.put(_PATHS[1], summary="Set the boot device of a node", status_code=204, include_in_schema=False)
async def set_boot_device(call: CallDep, ident: str) -> Response:
    """Set the boot device."""
    args = {"persistent": False} | call.arguments(_DEVICE)
    await management.ask(checked_ident(ident), management.SET_BOOT_DEVICE, args, context=call.context)
    return reply(status=204)


@router.get("/{ident}/management/boot_device/supported", summary="List the boot devices that a node offers")
async def supported_boot_devices(call: CallDep, ident: str) -> Response:
    """Return the boot devices that can be set."""
    call.query({})
    found = await management.ask(checked_ident(ident), management.GET_BOOT_DEVICES, context=call.context)
    return reply({"supported_boot_devices": found.get("supported_boot_devices", [])})


@router.put(
    "/{ident}/management/inject_nmi",
    summary="Interrupt the machine with an NMI",
    status_code=204,
    dependencies=[since(29)],
    openapi_extra=takes(body={}),
)
async def inject_nmi(call: CallDep, ident: str) -> Response:
    """Send a non-maskable interrupt, which makes many systems write a dump."""
    call.arguments({})
    await management.ask(checked_ident(ident), management.INJECT_NMI, context=call.context)
    return reply(status=204)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Images in the virtual drives of a node."""

from __future__ import annotations

from urllib.parse import urlsplit

from fastapi import Response

from rackwright.api.deps import Arg, Args, CallDep, checked_ident, reply
from rackwright.api.documents import takes
from rackwright.api.kinds import WORDS, Kind, choice
from rackwright.api.routing import Router
from rackwright.api.versions import since
from rackwright.services import virtual_media

router = Router(prefix="/v1/nodes/{ident}/vmedia", tags=["node virtual media"])

DEVICES = ("disk", "cdrom", "floppy")
_SCHEMES = ("http", "https", "nfs", "cifs", "smb")
_SINCE, _LIST_SINCE = 89, 93


def _url(value: str) -> str:
    if urlsplit(value).scheme not in _SCHEMES or not urlsplit(value).netloc:
        raise ValueError(f"{value!r} is no URL with one of the schemes {', '.join(_SCHEMES)}")
    return value


def _devices(value: str) -> list[str]:
    if unknown := [name for name in WORDS.normal(value) if name not in DEVICES]:
        raise ValueError(f"{', '.join(unknown)} is no device type; possible: {', '.join(DEVICES)}")
    return list(WORDS.normal(value))


_ATTACH: Args = {
    "device_type": Arg(choice(*DEVICES), required=True),
    "image_url": Arg(Kind({"type": "string", "format": "uri"}, _url), required=True),
    "image_download_source": Arg(choice("http", "local", "swift")),
}
_DETACH: Args = {"device_types": Arg(Kind({"type": "string"}, _devices, repeated=True))}


@router.get("", summary="List the virtual drives of a node", dependencies=[since(_LIST_SINCE)])
async def index(call: CallDep, ident: str) -> Response:
    """Return the virtual drives and what is in them, as the BMC tells it."""
    call.query({})
    return reply(await virtual_media.listed(checked_ident(ident), context=call.context))


@router.post(
    "", summary="Attach an image", status_code=204, dependencies=[since(_SINCE)], openapi_extra=takes(body=_ATTACH)
)
async def attach(call: CallDep, ident: str) -> Response:
    """Let an image be inserted into a virtual drive; the BMC itself fetches it from its URL."""
    given = call.arguments(_ATTACH)
    await virtual_media.attach(checked_ident(ident), given["device_type"], given["image_url"], context=call.context)
    return reply(status=204)


@router.delete("", summary="Detach images", status_code=204, dependencies=[since(_SINCE)], openapi_extra=takes(_DETACH))
async def detach(call: CallDep, ident: str) -> Response:
    """Let the virtual drives of the named kinds be emptied, all by default."""
    devices = call.query(_DETACH).get("device_types") or DEVICES
    await virtual_media.detach(checked_ident(ident), devices, context=call.context)
    return reply(status=204)

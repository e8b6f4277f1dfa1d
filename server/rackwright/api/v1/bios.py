# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The BIOS settings of a node."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.collections import whole
from rackwright.api.deps import Arg, Args, CallDep, checked_ident, reply
from rackwright.api.documents import takes
from rackwright.api.kinds import BOOLEAN, WORDS
from rackwright.api.routing import Router
from rackwright.api.schemas.bios import BIOS, DETAIL_SINCE
from rackwright.api.versions import since
from rackwright.services import bios

router = Router(prefix="/v1/nodes/{ident}/bios", tags=["node BIOS"], dependencies=[since(40)])

_CHOICE: Args = {
    "fields": Arg(WORDS, DETAIL_SINCE, newer_is_wrong=True),
    "detail": Arg(BOOLEAN, DETAIL_SINCE, newer_is_wrong=True),
}


@router.get("", summary="List the BIOS settings of a node", openapi_extra=takes(_CHOICE))
def index(call: CallDep, ident: str) -> Response:
    """Return all BIOS settings that are known of a node."""
    return whole(call, BIOS, _CHOICE, lambda _: bios.listed(checked_ident(ident), context=call.context))


@router.get("/{setting}", summary="Show one BIOS setting")
def one(call: CallDep, ident: str, setting: str) -> Response:
    """Return one BIOS setting under its name."""
    call.query({})
    row = bios.get(checked_ident(ident), setting, context=call.context)
    return reply({setting: BIOS.render(row, BIOS.visible(call.minor), call.site)})

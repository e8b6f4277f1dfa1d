# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The firmware components of a node."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.collections import CHOICE, whole
from rackwright.api.deps import CallDep, checked_ident
from rackwright.api.documents import takes
from rackwright.api.routing import Router
from rackwright.api.schemas.firmware import FIRMWARE
from rackwright.api.versions import since
from rackwright.services import firmware

router = Router(prefix="/v1/nodes/{ident}/firmware", tags=["node firmware"], dependencies=[since(86)])


@router.get("", summary="List the firmware components of a node", openapi_extra=takes(CHOICE))
def index(call: CallDep, ident: str) -> Response:
    """Return all components of a node that are known to carry firmware."""
    return whole(call, FIRMWARE, CHOICE, lambda _: firmware.listed(checked_ident(ident), context=call.context))

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The virtual interfaces of a node."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.deps import Arg, Args, CallDep, checked_ident, reply
from rackwright.api.documents import takes
from rackwright.api.kinds import ANYTHING, IDENT, UUID_TEXT
from rackwright.api.routing import Router
from rackwright.api.versions import since
from rackwright.domain.errors import Invalid
from rackwright.services import vifs

router = Router(prefix="/v1/nodes/{ident}/vifs", tags=["node VIFs"], dependencies=[since(28)])

_VIF: Args = {"id": Arg(IDENT, required=True), "port_uuid": Arg(UUID_TEXT, 67), "portgroup_uuid": Arg(UUID_TEXT, 67)}


@router.get("", summary="List the virtual interfaces of a node")
def index(call: CallDep, ident: str) -> Response:
    """Return the virtual interfaces that are attached to a node."""
    call.query({})
    return reply({"vifs": vifs.of(checked_ident(ident), context=call.context)})


@router.post("", summary="Attach a virtual interface", status_code=204, openapi_extra=takes(body=_VIF))
def attach(call: CallDep, ident: str) -> Response:
    """Attach a virtual interface; a client may add keys of its own."""
    body = call.json(needed=False)
    own = body.keys() - _VIF.keys() if isinstance(body, dict) else ()
    given = call.arguments({**_VIF, **dict.fromkeys(own, Arg(ANYTHING))})
    if given.keys() >= {"port_uuid", "portgroup_uuid"}:
        raise Invalid("port_uuid and portgroup_uuid exclude each other; give one of them.")
    wanted = {name: given[name] for name in ("port_uuid", "portgroup_uuid") if name in given}
    vifs.attach(checked_ident(ident), given["id"], context=call.context, **wanted)
    return reply(status=204)


@router.delete("/{vif}", summary="Detach a virtual interface", status_code=204)
def detach(call: CallDep, ident: str, vif: str) -> Response:
    """Detach a virtual interface."""
    call.query({})
    vifs.detach(checked_ident(ident), checked_ident(vif), context=call.context)
    return reply(status=204)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Volume connectors and targets: lists (also those of one node), creation, one of them (contract: api.yaml, volume)."""

from __future__ import annotations

from typing import Any

from fastapi import Response

from rackwright.api.collections import FIELDS, PAGING, listing
from rackwright.api.deps import Arg, Args, Call, CallDep, checked_ident, reply
from rackwright.api.documents import lists, takes
from rackwright.api.endpoints import Endpoints
from rackwright.api.fields import Row
from rackwright.api.kinds import BOOLEAN, IDENT
from rackwright.api.links import pair
from rackwright.api.routing import Router
from rackwright.api.schemas.volume import CONNECTOR, TARGET
from rackwright.api.versions import since
from rackwright.services import nodes, volumes

router = Router(tags=["volumes"], dependencies=[since(32)])

_DETAIL: Args = {"detail": Arg(BOOLEAN)}
_OF_NODE = "/v1/nodes/{ident}/volume"


def _contents(call: Call, path: str) -> Response:
    names = ("connectors", "targets")
    return reply({"links": pair(call.url, f"{path}/"), **{name: pair(call.url, f"{path}/{name}") for name in names}})


@router.get("/v1/volume", summary="What there is of volumes")
def root(call: CallDep) -> Response:
    """Return links to the connectors and the targets."""
    call.query({})
    volumes.check_listing(context=call.context)
    return _contents(call, "volume")


@router.get(_OF_NODE, summary="What a node has of volumes")
def of_node(call: CallDep, ident: str) -> Response:
    """Return links to the connectors and the targets of a node."""
    call.query({})
    node = nodes.get(checked_ident(ident), context=call.context)
    volumes.check_listing(context=call.context)
    return _contents(call, f"nodes/{node.uuid}/volume")


class _Endpoints(Endpoints):
    """What a target says of its volume is shown to those only whom a rule allows it."""

    def shown(self, found: Any, call: Call) -> Row:
        """Return what the caller may see of one."""
        (row,) = volumes.visible([dict(super().shown(found, call))], context=call.context)
        return row

    def of_node(self, call: CallDep, ident: str) -> Response:
        """Return one page of those of a node."""
        wanted = listing(call, self.resource, _DETAIL)
        filters, columns = {"node": checked_ident(ident)}, ("uuid", *wanted.columns)
        return wanted.answer(self.service.listed(columns, context=call.context, filters=filters, page=wanted.page))


for _resource, _kind in ((CONNECTOR, volumes.CONNECTOR), (TARGET, volumes.TARGET)):
    _endpoints = _Endpoints(
        resource=_resource,
        service=_kind,
        row=volumes.row,
        filters={"node": Arg(IDENT), **_DETAIL},
        ident="uuid",
        place=f"volume/{_resource.collection}",
    )
    _endpoints.join(router)
    router.add_api_route(
        f"{_OF_NODE}/{_resource.collection}",
        _endpoints.of_node,
        summary=f"List the {_resource.name}s of a node",
        description=f"Return one page of the {_resource.name}s of a node.",
        openapi_extra=takes({**PAGING, **FIELDS, **_DETAIL}) | lists(_resource),
    )

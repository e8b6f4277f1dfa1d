# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Volume connectors and targets: lists (also those of one node), creation, one of them (contract: api.yaml, volume)."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import APIRouter, Response

from rackwright.api.collections import FIELDS, PAGING, created, listing, show
from rackwright.api.deps import Arg, Args, Call, CallDep, checked_ident, checked_uuid, reply
from rackwright.api.documents import creates, patches, takes
from rackwright.api.fields import Resource
from rackwright.api.kinds import BOOLEAN, IDENT
from rackwright.api.links import pair
from rackwright.api.patch import changes
from rackwright.api.routing import Router
from rackwright.api.schemas.volume import CONNECTOR, TARGET
from rackwright.api.versions import since
from rackwright.services import nodes, volumes

router = Router(tags=["volumes"], dependencies=[since(32)])

_CHOICE: Args = {**FIELDS, "detail": Arg(BOOLEAN)}
_FILTERS: Args = {"node": Arg(IDENT)}
_OF_NODE = "/v1/nodes/{ident}/volume"
_SUCCESS = {"POST": 201, "DELETE": 204}


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


@dataclass(frozen=True, slots=True)
class Endpoints:
    """The endpoints of connectors or of targets; both work alike."""

    resource: Resource
    kind: volumes.Kind

    def _listed(self, call: Call, args: Args, node: str | None = None) -> Response:
        wanted = listing(call, self.resource, {**args, **_CHOICE})
        filters = dict(wanted.filters) if node is None else {"node": node}
        columns = ("uuid", *wanted.columns)
        return wanted.answer(
            volumes.listed(self.kind, columns, context=call.context, filters=filters, page=wanted.page)
        )

    def _shown(self, call: Call, volume: volumes.Volume, args: Args = FIELDS) -> Response:
        (row,) = volumes.visible([volumes.row(volume, context=call.context)], context=call.context)
        return show(call, self.resource, row, args)

    def index(self, call: CallDep) -> Response:
        """Return one page of them."""
        return self._listed(call, _FILTERS)

    def of_node(self, call: CallDep, ident: str) -> Response:
        """Return one page of those of a node."""
        return self._listed(call, {}, checked_ident(ident))

    def create(self, call: CallDep) -> Response:
        """Create one."""
        call.query({})
        values = self.resource.read(call.json(), call.minor)
        made = volumes.create(self.kind, values, context=call.context)
        (row,) = volumes.visible([volumes.row(made, context=call.context)], context=call.context)
        return created(call, self.resource, row, path=f"volume/{self.resource.collection}")

    def one(self, call: CallDep, uuid: str) -> Response:
        """Return one."""
        return self._shown(call, volumes.get(self.kind, checked_uuid(uuid), context=call.context))

    def patch(self, call: CallDep, uuid: str) -> Response:
        """Change fields of one with a JSON patch."""
        call.query({})
        volume = volumes.get(self.kind, checked_uuid(uuid), context=call.context, lock=True)
        values = changes(self.resource, volumes.row(volume, context=call.context), call.json(), call.minor)
        volumes.update(self.kind, volume, values, context=call.context)
        return self._shown(call, volume, {})

    def delete(self, call: CallDep, uuid: str) -> Response:
        """Remove one."""
        call.query({})
        volumes.delete(self.kind, checked_uuid(uuid), context=call.context)
        return reply(status=204)

    def join(self, router: APIRouter) -> None:
        """Add all of them to a router."""
        name, path = self.resource.name, f"/v1/volume/{self.resource.collection}"
        listed = takes(PAGING, _CHOICE)
        for method, place, endpoint, summary, extra in (
            ("GET", path, self.index, f"List {name}s", takes(_FILTERS, PAGING, _CHOICE)),
            ("POST", path, self.create, f"Create a {name}", creates(self.resource)),
            ("GET", f"{path}/{{uuid}}", self.one, f"Show a {name}", takes(FIELDS)),
            ("PATCH", f"{path}/{{uuid}}", self.patch, f"Change a {name}", patches(self.resource)),
            ("DELETE", f"{path}/{{uuid}}", self.delete, f"Remove a {name}", {}),
            ("GET", f"{_OF_NODE}/{self.resource.collection}", self.of_node, f"List the {name}s of a node", listed),
        ):
            router.add_api_route(
                place,
                endpoint,
                methods=[method],
                summary=summary,
                status_code=_SUCCESS.get(method, 200),
                openapi_extra=extra,
            )


for each in (Endpoints(CONNECTOR, volumes.CONNECTOR), Endpoints(TARGET, volumes.TARGET)):
    each.join(router)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Nodes: lists, creation, one node (contract: api.yaml, nodes)."""

from __future__ import annotations

from fastapi import Response

from rackwright.api.collections import CHOICE, FIELDS, PAGING, listing, show
from rackwright.api.deps import Arg, Args, Call, CallDep, checked_ident, reply
from rackwright.api.documents import creates, lists, patches, shows, takes
from rackwright.api.kinds import BOOLEAN, IDENT, LOWERED, TEXT, UUID_TEXT, WORDS, choice
from rackwright.api.patch import changes, named
from rackwright.api.routing import Router
from rackwright.api.schemas.node import NODE
from rackwright.api.versions import since
from rackwright.domain.errors import NodeNotFound
from rackwright.domain.states import ProvisionState
from rackwright.services import node_access, nodes, validate
from rackwright.store.node import Node

router = Router(prefix="/v1/nodes", tags=["nodes"])

FAULTS = ("power failure", "clean failure", "rescue abort failure", "service failure")
FILTERS: Args = {
    "chassis_uuid": Arg(UUID_TEXT),
    "instance_uuid": Arg(UUID_TEXT),
    "associated": Arg(BOOLEAN),
    "maintenance": Arg(BOOLEAN),
    "retired": Arg(BOOLEAN),
    "provision_state": Arg(choice(*ProvisionState), 9),
    "driver": Arg(TEXT, 16),
    "resource_class": Arg(TEXT, 21),
    "fault": Arg(choice(*FAULTS), 42),
    "conductor_group": Arg(LOWERED, 46),
    "conductor": Arg(TEXT, 49),
    "owner": Arg(TEXT, 50),
    "description_contains": Arg(TEXT, 51),
    "lessee": Arg(TEXT, 65),
    "project": Arg(TEXT),
    "shard": Arg(WORDS, 82),
    "sharded": Arg(BOOLEAN, 82),
    "include_children": Arg(BOOLEAN, 83),
    "parent_node": Arg(IDENT, 83),
    "instance_name": Arg(TEXT, 104),
}
_RESET: Args = {"reset_interfaces": Arg(BOOLEAN, 45)}
_WHICH: Args = {"node": Arg(IDENT), "node_uuid": Arg(UUID_TEXT)}


def listed(call: Call, args: Args = FILTERS, *, detail: bool | None = None, chassis: str | None = None) -> Response:
    """Return one page of nodes as an answer; with ``chassis``, its UUID, of those in it."""
    wanted = listing(call, NODE, args, detail=detail)
    filters = dict(wanted.filters) if chassis is None else {**wanted.filters, "chassis_uuid": chassis}
    if "parent_node" in filters:
        filters["parent_node"] = nodes.get(filters["parent_node"], context=call.context).uuid
    elif not filters.get("include_children"):
        filters["include_children"] = False
    rows = nodes.listed(("uuid", *wanted.columns), context=call.context, filters=filters, page=wanted.page)
    return wanted.answer(rows, paged="instance_uuid" not in filters)


def _shown(call: Call, node: Node, args: Args = FIELDS) -> Response:
    return show(call, NODE, nodes.row(node, context=call.context), args)


@router.get("", summary="List nodes", openapi_extra=takes(FILTERS, PAGING, CHOICE) | lists(NODE))
def index(call: CallDep) -> Response:
    """Return one page of nodes."""
    return listed(call)


@router.get("/detail", summary="List nodes with all fields", openapi_extra=takes(FILTERS, PAGING) | lists(NODE))
def detail(call: CallDep) -> Response:
    """Return one page of nodes with all fields."""
    return listed(call, detail=True)


@router.post("", summary="Create a node", status_code=201, openapi_extra=creates(NODE))
def create(call: CallDep) -> Response:
    """Create a node."""
    call.query({})
    node = nodes.create(NODE.read(call.json(), call.minor), context=call.context)
    answer = _shown(call, node, {})
    answer.status_code = 201
    answer.headers["Location"] = f"{call.url}/v1/nodes/{node.uuid}"
    return answer


@router.get("/validate", summary="Validate the interfaces of a node", openapi_extra=takes(_WHICH))
def validate_by_argument(call: CallDep) -> Response:
    """Return what each interface of the node that an argument names lacks."""
    given = call.query(_WHICH)
    ident = given.get("node") or given.get("node_uuid")
    if ident is None:
        raise NodeNotFound("No node is named here; give its UUID or name as node=.")
    return reply(validate.report(nodes.get(ident, context=call.context), context=call.context))


@router.get("/{ident}", summary="Show a node", openapi_extra=takes(FIELDS) | shows(NODE))
def one(call: CallDep, ident: str) -> Response:
    """Return one node."""
    return _shown(call, nodes.get(checked_ident(ident), context=call.context))


@router.patch("/{ident}", summary="Change a node", openapi_extra=takes(_RESET) | patches(NODE))
def patch(call: CallDep, ident: str) -> Response:
    """Change fields of a node with a JSON patch."""
    reset = call.query(_RESET).get("reset_interfaces", False)
    node = nodes.get(checked_ident(ident), context=call.context, lock=True)
    node_access.check_update(node, named(call.json()), context=call.context)
    values = changes(NODE, nodes.row(node, context=call.context), call.json(), call.minor)
    nodes.update(node, values, context=call.context, reset_interfaces=reset)
    return _shown(call, node, _RESET)


@router.delete("/{ident}", summary="Remove a node", status_code=204)
def delete(call: CallDep, ident: str) -> Response:
    """Remove a node."""
    call.query({})
    nodes.delete(checked_ident(ident), context=call.context)
    return reply(status=204)


@router.get("/{ident}/validate", summary="Validate the interfaces of a node")
def validate_one(call: CallDep, ident: str) -> Response:
    """Return what each interface of a node lacks."""
    call.query({})
    return reply(validate.report(nodes.get(checked_ident(ident), context=call.context), context=call.context))


@router.get("/{ident}/children", summary="List the child nodes of a node", dependencies=[since(83)])
def children(call: CallDep, ident: str) -> Response:
    """Return the UUIDs of the nodes whose parent is this node."""
    call.query({})
    parent = nodes.get(checked_ident(ident), context=call.context).uuid
    link = {"href": f"{call.url}/v1/nodes?parent_node={parent}", "rel": "children"}
    return reply({"children": nodes.children(parent, context=call.context), "links": link})

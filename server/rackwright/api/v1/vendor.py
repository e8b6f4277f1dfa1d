# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Methods of vendor interfaces, of nodes and of drivers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import Response

from rackwright.api.deps import Arg, Args, Call, CallDep, checked_ident, reply
from rackwright.api.kinds import TEXT
from rackwright.api.routing import Router
from rackwright.domain.errors import Invalid
from rackwright.services import vendor
from rackwright.services.vendor import Called, Methods

router = Router(prefix="/v1", tags=["vendor methods"])

_VERBS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_NODE, _DRIVER = "/nodes/{ident}/vendor_passthru", "/drivers/{name}/vendor_passthru"
_METHOD: Args = {"method": Arg(TEXT)}
_BODY = {"requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}}}


def _shown(methods: Methods) -> dict[str, Any]:
    return {
        name: {
            "http_methods": list(each.http_methods),
            "async": not each.wait,
            "description": each.description,
            "attach": False,
            "require_exclusive_lock": each.exclusive,
        }
        for name, each in sorted(methods.items())
    }


@router.get(f"{_NODE}/methods", summary="List the vendor methods of a node")
def methods(call: CallDep, ident: str) -> Response:
    """Return the methods of the node's vendor interface."""
    call.query({})
    return reply(_shown(vendor.methods(checked_ident(ident), context=call.context)))


async def call_method(call: CallDep, ident: str, method: str) -> Response:
    """Call a method; one that is waited for answers with its result."""
    call.query({})
    return await _called(call, ident, method)


async def call_named(call: CallDep, ident: str) -> Response:
    """Call the method that the query argument ``method`` names."""
    return await _called(call, ident, call.query(_METHOD).get("method", ""))


async def _called(call: Call, ident: str, method: str) -> Response:
    request = vendor.call(checked_ident(ident), method, call.request.method, _args(call), context=call.context)
    return _answer(await request)


def _args(call: Call) -> dict[str, Any]:
    args = call.json(needed=False)
    if args is not None and not isinstance(args, dict):
        raise Invalid("The body must be a JSON object with the arguments of the vendor method.")
    return args or {}


def _answer(called: Called) -> Response:
    ended, result = called
    return reply(result) if ended else reply(status=202)


@router.get(f"{_DRIVER}/methods", summary="List the vendor methods of a driver")
def methods_of_driver(call: CallDep, name: str) -> Response:
    """Return the methods of a driver that need no node."""
    call.query({})
    return reply(_shown(vendor.methods_of_driver(name, context=call.context)))


async def call_driver(call: CallDep, name: str, method: str) -> Response:
    """Call a method of a driver; one that is waited for answers with its result."""
    call.query({})
    return _answer(await vendor.call_driver(name, method, call.request.method, _args(call), context=call.context))


async def call_driver_named(call: CallDep, name: str) -> Response:
    """Call the method that the query argument ``method`` names."""
    method = call.query(_METHOD).get("method", "")
    return _answer(await vendor.call_driver(name, method, call.request.method, _args(call), context=call.context))


_CALLS: Mapping[str, tuple[Callable[..., Any], str]] = {
    f"{_NODE}/{{method}}": (call_method, "Call a vendor method of a node"),
    _NODE: (call_named, "Call the vendor method of a node that the query names"),
    f"{_DRIVER}/{{method}}": (call_driver, "Call a vendor method of a driver"),
    _DRIVER: (call_driver_named, "Call the vendor method of a driver that the query names"),
}
for _path, (_endpoint, _summary) in _CALLS.items():
    for _verb in _VERBS:  # one route for each, so that each has its own id in the OpenAPI document
        router.add_api_route(_path, _endpoint, methods=[_verb], summary=_summary, openapi_extra=_BODY)

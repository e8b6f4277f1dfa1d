# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The one table from a domain error to a status, and Ironic's two forms of fault bodies (contract: error_body)."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from http import HTTPStatus

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.routing import Match

from rackwright.api.versions import MethodOfNewerVersion, hides
from rackwright.domain import errors
from rackwright.domain.wording import shortened
from rackwright.store.ailment import ailment
from rackwright.store.outage import report
from rackwright.store.session import UNAVAILABLE, DataError

_log = logging.getLogger(__name__)


class BadIdent(errors.Invalid):
    """{ident} is neither a UUID nor a name; names consist of letters, digits and . _ ~ - (255 at most)."""


STATUS: tuple[tuple[type[Exception], int], ...] = (
    (MethodOfNewerVersion, 405),
    (errors.Invalid, 400),
    (errors.Unauthenticated, 401),
    (errors.Forbidden, 403),
    (errors.NotFound, 404),
    (errors.NotAcceptableVersion, 406),
    (errors.Conflict, 409),
    (errors.AllocationFailed, 409),
    (errors.Unavailable, 503),
    (errors.RackwrightError, 500),
    *((family, 503) for family in UNAVAILABLE),
    (DataError, 400),
)
"""The status of each family of errors; the first family that fits counts."""

_HIDDEN = {
    400: "A value is longer than the database can hold, or holds a character that it cannot; shorten or change it.",
    500: "The server failed to answer this request; its log tells why under the request id.",
}
_WHERE_PATHS_ARE = "All paths and methods are listed in /openapi.json."
NO_VERSION_HEADERS = "rackwright.routing"
"""Set in the scope of answers that carry no version headers: 404 and 405 of the routing."""


def status_of(error: Exception) -> int:
    """Return the status for an error, 500 for one that nobody raised on purpose."""
    return next((status for family, status in STATUS if isinstance(error, family)), 500)


def fault(status: int, text: str) -> Response:
    """Return an answer with Ironic's fault body; ``error_message`` is a string that holds JSON."""
    code = "Client" if status < 500 else "Server"
    return _wrapped(status, {"faultcode": code, "faultstring": shortened(text), "debuginfo": None})


def refusal(status: int, description: str = "") -> Response:
    """Return an answer in the form of errors that arise before a resource is reached."""
    title = HTTPStatus(status).phrase
    return _wrapped(status, {"code": status, "title": title, "description": shortened(description)})


def unwrapped(status: int, text: str) -> Response:
    """Return an answer in the form of bodies that are refused unread."""
    return json_answer(status, {"faultcode": "Client", "faultstring": shortened(text)})


def _wrapped(status: int, content: dict[str, object]) -> Response:
    return json_answer(status, {"error_message": json.dumps(content)})


def json_answer(status: int, content: dict[str, object]) -> Response:
    """Return an answer in JSON."""
    return Response(json.dumps(content), status, media_type="application/json")


def answer(error: Exception) -> Response:
    """Return the answer to a request that ended with this error."""
    status = status_of(error)
    return fault(status, error.message if isinstance(error, errors.RackwrightError) else _hidden(error, status))


def _hidden(error: Exception, status: int) -> str:
    """Return what to tell of an error whose own text may show the inside."""
    return f"{ailment(error)}; try again later." if status == 503 else _HIDDEN[status]


async def _on_bad_ident(_request: Request, error: Exception) -> Response:
    return refusal(400, str(error))


async def _on_error(request: Request, error: Exception) -> Response:
    reply = answer(error)
    if reply.status_code >= 500:
        _note(error, request)
    return reply


def _note(error: Exception, request: Request) -> None:
    action = f"{request.method} {request.url.path}"
    if isinstance(error, errors.Unavailable | errors.OperationFailed):
        _log.info("The request is refused", extra={"action": action, "cause": error.message})
    else:
        report("The request failed", error, request.app.state.parts.engine, action=action)


def _is_newer(request: Request, routes: Iterable[APIRoute]) -> bool:
    """Return whether every method of a path is of a newer version than the request asks for."""
    known = [route.dependencies for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    return all(any(hides(each.dependency, request.scope) for each in dependencies) for dependencies in known)


async def _on_routing_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        return answer(error)
    if error.status_code == 405 and request.method == "OPTIONS":
        reply = Response()
    else:
        reply = refusal(error.status_code, _unroutable(request, error))
        request.scope[NO_VERSION_HEADERS] = True
    reply.headers.update(error.headers or {})
    return reply


def _unroutable(request: Request, error: HTTPException) -> str:
    path = request.scope["path"]
    if error.status_code != 405:
        return f"There is nothing at {path} in this API version. {_WHERE_PATHS_ARE}"
    possible = (error.headers or {}).get("Allow")
    methods = f"; possible: {possible}" if possible else " in this API version"
    return f"Method {request.method} is not possible at {path}{methods}. {_WHERE_PATHS_ARE}"


def install(app: FastAPI, routers: Iterable[APIRouter]) -> None:
    """Make the app with these routers answer every error in Ironic's form."""
    routes = [route for router in routers for route in router.routes if isinstance(route, APIRoute)]

    async def on_routing_error(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException) and error.status_code == 405 and _is_newer(request, routes):
            return await _on_routing_error(request, HTTPException(404))
        return await _on_routing_error(request, error)

    for family in {family for family, _ in STATUS}:
        app.add_exception_handler(family, _on_error)
    app.add_exception_handler(BadIdent, _on_bad_ident)
    app.add_exception_handler(HTTPException, on_routing_error)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What happens to every request before a router sees it: one path form, a version, a body within its limits.

Contract: api.yaml, versioning, other_headers and body_limits. Limits hold before anything is parsed.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from time import perf_counter
from typing import Any
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rackwright.api import versions
from rackwright.api.admission import METRICS, Admission
from rackwright.api.errors import NO_VERSION_HEADERS, answer, fault, refusal, unwrapped
from rackwright.telemetry import facts
from rackwright.telemetry.numbers import API_SECONDS, OTHER

_log = logging.getLogger(__name__)

BODY_KEY = "rackwright.body"
"""Where the scope keeps the body, as bytes."""

_OUTSIDE = ("/files", "/docs", "/openapi.json")
_RESOURCES = (
    *("allocations", "chassis", "conductors", "continue_inspection", "deploy_templates", "drivers", "events"),
    *("heartbeat", "inspection_rules", "lookup", "nodes", "portgroups", "ports", "runbooks", "shards", "volume"),
)
_WITHOUT_PREFIX = re.compile(rf"/(?:{'|'.join(_RESOURCES)})(?:/|$)")
_IDENT_LAST = re.compile(
    r"/v1/nodes/(?P<part>states(?:/(?:console|power|provision|raid))?|management/boot_device|maintenance)/(?P<ident>[^/]+)"
)
_DOT_JSON_UNTIL = 91

_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_GLOBAL_REQUEST = "X-OpenStack-Request-ID"
_REQUEST_ID = re.compile(r"req-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)

_DEEPEST = 25
_LONGEST_LENGTH = 18  # digits of a Content-Length; more are not worth reading
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*+"', re.DOTALL)
_NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NOT_BRACKETS = bytes(set(range(256)) - _STEPS.keys())


@dataclass(frozen=True, slots=True)
class Limits:
    """The largest bodies in KiB, by the end of the path."""

    plain: int
    provision: int
    inspection: int

    def of(self, path: str) -> int:
        """Return the largest body in bytes for a path."""
        if path.endswith("states/provision"):
            return self.provision * 1024
        if path.endswith("continue_inspection"):
            return self.inspection * 1024
        return self.plain * 1024


class _TooLarge(Exception):
    """The body is larger than allowed."""


def depth(body: bytes) -> int:
    """Return how deeply the arrays and objects of a JSON text are nested."""
    brackets = _STRINGS.sub(b"", body).translate(None, _NOT_BRACKETS)
    return max(accumulate(_STEPS[each] for each in brackets), default=0)


def plain_path(path: str, minor: int) -> str:
    """Return the one form of a path: with /v1, without a slash at its end, the node before its parts."""
    short = path.rstrip("/") or "/"
    if _WITHOUT_PREFIX.match(short):
        short = f"/v1{short}"
    if minor < _DOT_JSON_UNTIL:
        short = short.removesuffix(".json")
    other = _IDENT_LAST.fullmatch(short)
    return f"/v1/nodes/{other['ident']}/{other['part']}" if other else short


def takes_json(accept: str) -> bool:
    """Return whether an Accept header lets us answer in JSON; q=0 takes a type out."""
    for item in accept.lower().split(","):
        kind, *parameters = (part.strip() for part in item.split(";"))
        if kind in ("application/json", "application/*", "*/*") and not _is_refused(parameters):
            return True
    return not accept.strip()


def _is_refused(parameters: Iterable[str]) -> bool:
    return any(re.fullmatch(r"q=0(\.0*)?", part) for part in parameters)


class Gate:
    """The ASGI application around the API."""

    def __init__(self, app: ASGIApp, limits: Limits, admission: Admission | None = None) -> None:
        self._app = app
        self._limits = limits
        self._admission = admission

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Admit or refuse one request."""
        if scope["type"] != "http" or scope["path"].startswith(_OUTSIDE):
            await self._app(scope, receive, send)
            return
        headers, marked, begin = Headers(scope=scope), _Marked(scope, send), perf_counter()
        with facts.about(request=_request_id(scope), global_request=_global_request(headers)):
            await self._speak(scope, receive, marked, headers)
        API_SECONDS.note(perf_counter() - begin, **_described(scope, marked.status))

    async def _speak(self, scope: Scope, receive: Receive, marked: _Marked, headers: Headers) -> None:
        try:
            minor = versions.minor_of(headers)
        except versions.VersionOutOfRange as error:
            await refusal(406, error.message)(scope, receive, marked)
            return
        marked.minor = minor
        versions.remember(scope, minor)
        await self._admit(scope, receive, marked, headers)

    async def _admit(self, scope: Scope, receive: Receive, send: _Marked, headers: Headers) -> None:
        path = scope["path"] = plain_path(scope["path"], versions.minor_of(headers))
        scope["raw_path"] = path.encode()
        problem = None
        if path != METRICS and not takes_json(headers.get("accept", "")):
            problem = refusal(406, "The answers of this service are application/json; accept that.")
        elif "\0" in path or b"%00" in scope["query_string"]:
            problem = fault(400, "A NUL character is not allowed in a path or an argument.")
        elif self._admission is not None:
            problem = await self._admission.refusal(scope, headers)
        if problem is None:
            try:
                body = scope[BODY_KEY] = await _body(receive, self._limits.of(path), headers)
                problem = _body_problem(body, path)
            except _TooLarge:
                problem = unwrapped(413, f"The body is larger than the {self._limits.of(path) // 1024} KiB allowed.")
            except ClientDisconnect:
                return
        if problem is not None:
            await problem(scope, receive, send)
        else:
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: _Marked) -> None:
        try:
            await self._app(scope, receive, send)
        except Exception as error:
            # Nobody raised it on purpose: the client learns the request id, the log has the traceback.
            _log.exception("The request failed.", extra={"action": f"{scope['method']} {scope['path']}"})
            if not send.started:
                await answer(error)(scope, receive, send)


def _body_problem(body: bytes, path: str) -> Any:
    if depth(body) > _DEEPEST:
        return unwrapped(400, f"The body is nested more deeply than the {_DEEPEST} levels allowed.")
    # Machines report serial numbers padded with NUL; an inspection report is only kept, never searched by its text.
    if not path.endswith("continue_inspection") and _NUL.search(body):
        return fault(400, "A NUL character is not allowed in a value.")
    return None


async def _body(receive: Receive, largest: int, headers: Headers) -> bytes:
    """Return the whole body; raise _TooLarge as soon as it is known to be too large."""
    announced = headers.get("content-length", "0")
    if announced.isdecimal() and (len(announced) > _LONGEST_LENGTH or int(announced) > largest):
        raise _TooLarge
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > largest:
            raise _TooLarge
        if not message.get("more_body", False):
            return b"".join(parts)


class _Marked:
    """Adds the request id and the version headers to the answer of one request."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope = scope
        self._send = send
        self.minor: int | None = None
        self.started = False
        self.status = 0
        """The status of the answer; 0 while there is none, and when the client has left before it."""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started, self.status = True, message["status"]
            headers = MutableHeaders(scope=message)
            headers["openstack-request-id"] = headers["x-openstack-request-id"] = _request_id(self._scope)
            if not self._scope.get(NO_VERSION_HEADERS):
                headers.update(versions.RANGE_HEADERS)
                if self.minor is not None:
                    headers[versions.HEADER] = f"1.{self.minor}"
        await self._send(message)


def _request_id(scope: Scope) -> str:
    known = scope.setdefault("rackwright.request_id", f"req-{uuid4()}")
    return str(known)


def _global_request(headers: Headers) -> str | None:
    """Return the id under which other services log the same request, None when it is not of their form."""
    given = headers.get(_GLOBAL_REQUEST, "")
    return given if _REQUEST_ID.fullmatch(given) else None


def _described(scope: Scope, status: int) -> dict[str, str]:
    """Return the labels of a request: few values each, whatever clients send."""
    method = scope["method"] if scope["method"] in _METHODS else OTHER
    return {"method": method, "route": getattr(scope.get("route"), "path", "none"), "status": f"{status // 100}xx"}

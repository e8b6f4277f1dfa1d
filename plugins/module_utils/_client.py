# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A client of the Ironic v1 API: what the modules of this collection say to the daemon, or to any Ironic."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPException
from ssl import SSLContext
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode

from ansible.module_utils.urls import Request, make_context

from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError

API_OPTIONS: dict[str, dict[str, Any]] = {
    "api_url": {"type": "str", "default": "http://127.0.0.1:6385"},
    "api_username": {"type": "str"},
    "api_password": {"type": "str", "no_log": True},
    "api_ca": {"type": "path"},
    "api_validate_certs": {"type": "bool", "default": True},
    "api_timeout": {"type": "int", "default": 60},
}
NEWEST_VERSION = "1.109"
RETRIED = (409, 503)
ATTEMPTS = 6
PAUSE = 2.0
"""Seconds between two attempts."""


@dataclass(frozen=True)
class ApiError(Exception):
    """The API answered with an error: its HTTP status and its fault text."""

    status: int
    text: str

    def __str__(self) -> str:
        """Return status and text as one sentence."""
        return f"HTTP {self.status}: {self.text}"


class Unreachable(OperationError):
    """The API gave no answer: whether the request arrived is not known."""


class ApiClient:
    """Send requests to one Ironic v1 endpoint.

    A locked node (409) and a busy server (503) are tried again a few times, as other clients do (contract, clients 3).
    """

    def __init__(self, params: dict[str, Any]) -> None:
        """Take the connection from module options, see API_OPTIONS; raise OperationError where api_ca is of no use."""
        self.url = params["api_url"].rstrip("/").removesuffix("/v1")
        self._session = Request(
            context=_context(params["api_ca"], validate=params["api_validate_certs"]),
            timeout=params["api_timeout"],
            url_username=params["api_username"],
            url_password=params["api_password"],
            force_basic_auth=params["api_username"] is not None,
            follow_redirects="none",
        )

    def get(self, path: str, **query: Any) -> Any:
        """Return the JSON body at a path below /v1."""
        return self._call("GET", path + (f"?{urlencode(query)}" if query else ""))

    def find(self, path: str) -> Any | None:
        """Return the JSON body at a path below /v1, or None where there is none (404)."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def items(self, path: str, key: str, **query: Any) -> Iterator[dict[str, Any]]:
        """Yield all members of a collection, page after page; a page that fails fails the whole."""
        page = self.get(path, **query)
        while True:
            yield from page[key]
            if not page.get("next"):
                return
            page = self._call("GET", "/" + page["next"].partition("/v1/")[2])

    def post(self, path: str, body: Any) -> Any:
        """Create something; return what the API says it is now."""
        return self._call("POST", path, body)

    def put(self, path: str, body: Any) -> Any:
        """Ask for a state or a setting."""
        return self._call("PUT", path, body)

    def patch(self, path: str, body: list[dict[str, Any]]) -> Any:
        """Apply a JSON patch; return the changed object."""
        return self._call("PATCH", path, body)

    def delete(self, path: str) -> None:
        """Remove what is at a path."""
        self._call("DELETE", path)

    def operations(self, node: str) -> list[dict[str, Any]]:
        """Return the operations of a node with their timelines, oldest first; only our own daemon has them."""
        body = self._call("GET", f"/nodes/{segment(node)}/operations", root="/rackwright/v1")
        found: list[dict[str, Any]] = body["operations"]
        return found

    def _call(self, method: str, path: str, body: Any = None, *, root: str = "/v1") -> Any:
        attempts = ATTEMPTS
        while True:
            attempts -= 1
            try:
                return self._send(method, f"{self.url}{root}{path}", body)
            except ApiError as error:
                if error.status not in RETRIED or not attempts:
                    raise
            time.sleep(PAUSE)

    def _send(self, method: str, url: str, body: Any) -> Any:
        headers = {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "X-OpenStack-Ironic-API-Version": NEWEST_VERSION,
        }
        data = None if body is None else json.dumps(body)
        try:
            with self._session.open(method, url, data=data, headers=headers) as answer:
                return json.loads(answer.read() or "null")
        except HTTPError as error:
            raise ApiError(error.code, fault_text(error.read())) from error
        except (URLError, HTTPException, OSError, ValueError) as error:
            raise Unreachable(
                f"ask the API at {self.url}",
                str(getattr(error, "reason", error)),
                "Check that the daemon runs ('rackwright serve') and that api_url names it.",
            ) from error


def _context(ca: str | None, *, validate: bool) -> SSLContext:
    """Return what all requests share: loading the authorities takes longer than one of them."""
    try:
        context: SSLContext = make_context(cafile=ca, validate_certs=validate)
    except OSError as error:
        raise OperationError(
            f"read the certificate authority {ca}", str(error), "Correct api_ca: it names a file of PEM certificates."
        ) from error
    return context


def fault_text(body: bytes) -> str:
    """Return what an error body of the API says, in any of its shapes (contract, api: error_body)."""
    try:
        message = json.loads(body)
        message = message.get("error_message", message.get("error", message))
        if isinstance(message, str):
            message = json.loads(message)
        return str(message.get("faultstring") or message.get("description") or message.get("message") or message)
    except (ValueError, AttributeError):
        return body.decode("utf-8", "replace")[:500] or "no explanation given"


def segment(text: str) -> str:
    """Return a name or UUID as one path segment: a name from an inventory is data, never a path."""
    return quote(text, safe="")

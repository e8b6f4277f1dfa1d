# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""As much of an identity service as tempest and a server behind keystone authentication ask for.

Accounts are fixed; a token is handed out for a name with its password, told on request, and good for a day.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PASSWORD = "let me in"
DOMAIN = {"id": "default", "name": "Default"}
Answer = tuple[int, dict[str, Any], dict[str, str]]


@dataclass(frozen=True)
class Account:
    """Somebody who may log in: in a project, or for the whole system when there is none."""

    name: str
    project: str | None
    roles: tuple[str, ...]

    def token(self, scoped: bool, catalog: list[dict[str, Any]]) -> dict[str, Any]:
        """Return what a token of this account says."""
        now = datetime.now(UTC)
        told: dict[str, Any] = {
            "methods": ["password"],
            "audit_ids": [secrets.token_urlsafe(16)],
            "user": {"id": _identity(self.name), "name": self.name, "domain": DOMAIN, "password_expires_at": None},
            "issued_at": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "expires_at": (now + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        }
        if not scoped:
            return told
        if self.project:
            told["project"] = {"id": _identity(self.project), "name": self.project, "domain": DOMAIN}
        else:
            told["system"] = {"all": True}
        roles = [{"id": _identity(role), "name": role} for role in self.roles]
        return told | {"is_domain": False, "roles": roles, "catalog": catalog}


SERVICE = Account("ironic", "service", ("admin", "service"))
SYSTEM_ADMIN = Account("system-admin", None, ("admin", "manager", "member", "reader"))
ACCOUNTS = (
    SERVICE,
    SYSTEM_ADMIN,
    Account("system-member", None, ("member", "reader")),
    Account("system-reader", None, ("reader",)),
    Account("admin", "demo", ("admin", "manager", "member", "reader")),
    Account("manager", "demo", ("manager", "member", "reader")),
    Account("member", "demo", ("member", "reader")),
    Account("reader", "demo", ("reader",)),
)


def _identity(name: str) -> str:
    """Return an identifier of 32 hexadecimal digits, as keystone's are."""
    return name.encode().hex().ljust(32, "0")[:32]


class Keystone:
    """The service's memory: who may log in, and the tokens handed out."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.catalog: list[dict[str, Any]] = []
        self.tokens: dict[str, dict[str, Any]] = {}
        self.offer("identity", f"{self.url}/v3")

    def offer(self, kind: str, url: str) -> None:
        """Put a service into the catalog of the tokens to come."""
        common = {"region": "here", "region_id": "here", "url": url}
        faces = ("public", "internal", "admin")
        endpoints = [common | {"id": _identity(kind + face), "interface": face} for face in faces]
        self.catalog.append({"id": _identity(kind), "type": kind, "name": kind, "endpoints": endpoints})

    def issue(self, account: Account, *, scoped: bool = True) -> str:
        """Return a new token of an account."""
        token = secrets.token_hex(16)
        self.tokens[token] = account.token(scoped, self.catalog)
        return token

    def answer(self, path: str, asked: dict[str, Any] | None, subject: str) -> Answer:
        """Return status, body and headers of an answer; ``asked`` is the body of a POST, None for a GET."""
        match path.partition("?")[0].rstrip("/"):
            case "":
                return 300, {"versions": {"values": [self._version()]}}, {}
            case "/v3":
                return 200, {"version": self._version()}, {}
            case "/v3/auth/tokens" if asked is not None:
                return self._log_in(asked["auth"])
            case "/v3/auth/tokens" if subject in self.tokens:
                return 200, {"token": self.tokens[subject]}, {"X-Subject-Token": subject}
        return 404, {"error": {"code": 404, "title": "Not Found", "message": f"There is no {path}."}}, {}

    def _log_in(self, auth: dict[str, Any]) -> Answer:
        user = auth["identity"].get("password", {}).get("user", {})
        known = {_identity(account.name): account for account in ACCOUNTS} | {one.name: one for one in ACCOUNTS}
        account = known.get(user.get("id") or user.get("name"))
        if account is None or user.get("password") != PASSWORD:
            return 401, {"error": {"code": 401, "title": "Unauthorized", "message": "Unknown name or password."}}, {}
        token = self.issue(account, scoped=isinstance(auth.get("scope"), dict))
        return 201, {"token": self.tokens[token]}, {"X-Subject-Token": token}

    def _version(self) -> dict[str, Any]:
        links = [{"rel": "self", "href": f"{self.url}/v3/"}]
        return {"id": "v3.14", "status": "stable", "updated": "2020-04-07T00:00:00Z", "links": links}


@contextlib.contextmanager
def keystone() -> Iterator[Keystone]:
    """Serve an identity service."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send(service.answer(self.path, None, self.headers.get("X-Subject-Token", "")))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self._send(service.answer(self.path, json.loads(body), ""))

        def _send(self, answer: Answer) -> None:
            status, body, headers = answer
            text = json.dumps(body).encode()
            self.send_response(status)
            headers |= {"Content-Type": "application/json", "Content-Length": str(len(text))}
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            """Say nothing of each request."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service = Keystone(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A small identity service on loopback, and the API behind it."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from httpx2 import Response

from tests.unit.server.api_house import LATEST, House

USER, PASSWORD, DOMAIN = "rackwright", "account-secret", {"id": "default", "name": "Default"}
ROLES = ("reader", "member", "manager", "admin")


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        wish = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["auth"]
        user, keystone = wish["identity"]["password"]["user"], self.server.keystone
        password, *roles = keystone.people.get(user["name"], (None,))
        if self.path != "/v3/auth/tokens" or password != user["password"]:
            self._answer(401, {"error": {"code": 401, "message": "wrong"}})
            return
        system, project = "system" in wish["scope"], wish["scope"].get("project", {}).get("name")
        token = keystone.token(*roles, project=project, system=system)
        self._answer(201, {"token": keystone.tokens[token]}, {"X-Subject-Token": token})

    def do_GET(self) -> None:
        keystone, subject = self.server.keystone, self.headers.get("X-Subject-Token", "")
        if keystone.broken:
            self._answer(500, {})
        elif self.headers.get("X-Auth-Token") not in keystone.tokens:
            self._answer(401, {"error": {"code": 401, "message": "who are you"}})
        else:
            keystone.asked.append(subject)
            found = keystone.tokens.get(subject)
            if found and "allow_expired=1" not in self.path and _has_expired(found):
                found = None
            self._answer(404 if found is None else 200, {"token": found} if found else {})

    def _answer(self, status: int, content: Any, headers: Mapping[str, str] | None = None) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Keep silent."""


def _has_expired(token: Mapping[str, Any]) -> bool:
    return datetime.fromisoformat(token["expires_at"]) <= datetime.now(UTC)


class _Server(ThreadingHTTPServer):
    def __init__(self, keystone: Keystone) -> None:
        self.keystone = keystone
        super().__init__(("127.0.0.1", 0), _Handler)


class Keystone:
    """Speaks ``POST`` and ``GET /v3/auth/tokens``, as keystone does; remembers what it was asked.

    ``people`` are the users by name, each with a password and roles, which they have everywhere.
    """

    def __init__(self) -> None:
        self.people: dict[str, tuple[str, ...]] = {USER: (PASSWORD, "service")}
        self.catalog: list[dict[str, Any]] = []
        self.tokens: dict[str, dict[str, Any]] = {}
        self.asked: list[str] = []
        self.broken = False
        self.server = _Server(self)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def offer(self, url: str) -> None:
        """Name the API in the catalog of every token from now on."""
        endpoint = {"id": "e", "interface": "public", "region": "r", "region_id": "r", "url": url}
        self.catalog.append({"id": "s", "name": "ironic", "type": "baremetal", "endpoints": [endpoint]})

    def token(self, *roles: str, project: str | None = None, system: bool = False, seconds: float = 3600) -> str:
        """Return a new token; a role brings along those below it, as keystone implies them."""
        token = secrets.token_hex(8)
        scope: dict[str, Any] = {}
        if project is not None:
            scope["project"] = {"id": project, "name": project, "domain": DOMAIN}
        if system:
            scope["system"] = {"all": True}
        ends = datetime.now(UTC) + timedelta(seconds=seconds)
        user = f"{'system' if system else project}-{'-'.join(roles)}"
        self.tokens[token] = {
            "user": {"id": user, "name": user, "domain": DOMAIN},
            "roles": [{"id": name, "name": name} for name in implied(roles)],
            "expires_at": ends.isoformat().replace("+00:00", "Z"),
            "methods": ["password"],
            "catalog": self.catalog,
            **scope,
        }
        return token


def implied(roles: Iterable[str]) -> list[str]:
    """Return the roles with those that they imply."""
    return sorted({name for role in roles for name in (*ROLES[: ROLES.index(role) if role in ROLES else 0], role)})


@contextmanager
def identity_service() -> Iterator[Keystone]:
    keystone = Keystone()
    thread = Thread(target=keystone.server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield keystone
    finally:
        keystone.server.shutdown()
        keystone.server.server_close()
        thread.join()


def settings(keystone: Keystone) -> dict[str, Any]:
    """Return the settings with which tokens of this service count."""
    return {"auth_strategy": "keystone", "keystone_auth_url": keystone.url, "keystone_password": PASSWORD}


class GuardedHouse(House):
    """The API with callers; without a token given, the administrator of the whole deployment asks."""

    def __init__(self, folder: Path, keystone: Keystone, **more: Any) -> None:
        self.keystone = keystone
        self._tokens: dict[str, str] = {}
        super().__init__(folder, **{**settings(keystone), **more})

    def token(self, who: str) -> str:
        """Return the token of ``role@scope``; the scope is ``system``, or the name of a project."""
        if who not in self._tokens:
            role, _, scope = who.partition("@")
            where: dict[str, Any] = {"system": True} if scope == "system" else {"project": scope}
            self._tokens[who] = self.keystone.token(*([role] if role else []), **where)
        return self._tokens[who]

    def call(self, method: str, path: str, body: Any = None, *, version: str | None = LATEST, **more: Any) -> Response:
        """Send a request as ``who`` (``role@scope``)."""
        headers = {"X-Auth-Token": self.token(more.pop("who", "admin@system"))} | more.pop("headers", {})
        return super().call(method, path, body, version=version, headers=headers, **more)


OWN, LEASED, FOREIGN, FREE, CHILD = (f"{digit}0000000-0000-4000-8000-000000000000" for digit in "12345")
UNKNOWN = "99999999-9999-4999-8999-999999999999"
MACS = {uuid: f"52:54:00:00:00:0{number}" for number, uuid in enumerate((OWN, LEASED, FOREIGN, FREE))}
SECRET_ERROR = "The BMC at 192.0.2.7 is silent."


def rack(house: GuardedHouse) -> GuardedHouse:
    """Fill the API with a node of each kind, from the point of view of project p1."""
    for uuid, name, more in (
        (OWN, "own", {"owner": "p1"}),
        (LEASED, "leased", {"owner": "p2", "lessee": "p1"}),
        (FOREIGN, "foreign", {"owner": "p2"}),
        (FREE, "free", {}),
    ):
        house.node(uuid=uuid, name=name, provision_state="manageable", last_error=SECRET_ERROR, **more)
        house.port(uuid, MACS[uuid], extra={"of": name})
    house.node(uuid=CHILD, name="child", owner="p2", lessee="p1", parent_node=FOREIGN)
    return house

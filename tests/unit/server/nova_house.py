# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A small cloud on loopback: an identity service that gives tokens, and a Nova that takes external events."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import pytest

USER, PASSWORD, TOKEN = "rackwright", "canary-nova-password", "token-1"
Data = dict[str, Any]


class Cloud:
    """What was told; ``broken`` are statuses of Nova's next answers, ``unknown`` are servers that it does not know."""

    def __init__(self) -> None:
        self.told: list[Data] = []
        self.versions: set[str] = set()
        self.requests = 0
        self.broken: list[int] = []
        self.unknown: set[str] = set()
        self.url = ""

    @property
    def settings(self) -> Data:
        """Return the settings with which it is told."""
        return {"nova_auth_url": f"{self.url}/identity/v3", "nova_password": PASSWORD}

    def wait(self, events: int, seconds: float = 10) -> list[Data]:
        """Return what was told once that are so many events."""
        end = time.monotonic() + seconds
        while len(self.told) < events:
            assert time.monotonic() < end, self.told
            time.sleep(0.01)
        return self.told

    def take(self, body: Data) -> tuple[int, Data]:
        """Answer events."""
        self.requests += 1
        if self.broken:
            return self.broken.pop(0), {}
        self.told += body["events"]
        answers = [{**event, **self._verdict(event)} for event in body["events"]]
        return 207 if self.unknown else 200, {"events": answers}

    def _verdict(self, event: Data) -> Data:
        known = event["server_uuid"] not in self.unknown
        return {"code": 200, "status": "completed"} if known else {"code": 404, "status": "failed"}


class _Handler(BaseHTTPRequestHandler):
    cloud: Cloud

    def do_GET(self) -> None:
        links = [
            {"rel": "self", "href": f"{self.cloud.url}{'/compute/v2.1' if 'compute' in self.path else self.path}/"}
        ]
        if self.path.startswith("/compute"):
            about = {"id": "v2.1", "status": "CURRENT", "version": "2.100", "min_version": "2.1", "links": links}
        else:
            about = {"id": "v3.14", "status": "stable", "links": links, "updated": "2020-04-07T00:00:00Z"}
        self._answer(200, {"version": about})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/identity/v3/auth/tokens":
            self._give_token(body["auth"]["identity"]["password"]["user"])
        elif self.headers.get("X-Auth-Token") != TOKEN:
            self._answer(401, {})
        elif self.path != "/compute/v2.1/os-server-external-events":
            self._answer(404, {})
        else:
            self.cloud.versions.add(self.headers["OpenStack-API-Version"])
            self._answer(*self.cloud.take(body))

    def _give_token(self, user: Data) -> None:
        if (user["name"], user["password"]) != (USER, PASSWORD):
            self._answer(401, {"error": {"code": 401, "message": "wrong"}})
            return
        url = f"{self.cloud.url}/compute/v2.1"
        endpoint = {"id": "e", "interface": "public", "region": "r", "region_id": "r", "url": url}
        catalog = [{"id": "s", "name": "nova", "type": "compute", "endpoints": [endpoint]}]
        ends = datetime.now(UTC) + timedelta(hours=1)
        token = {"expires_at": ends.isoformat().replace("+00:00", "Z"), "methods": ["password"], "catalog": catalog}
        about = {"issued_at": datetime.now(UTC).isoformat(), "user": {"id": "u", "name": USER, "domain": {"id": "d"}}}
        scope = {"project": {"id": "p", "name": "service", "domain": {"id": "d"}}, "roles": []}
        self._answer(201, {"token": {**token, **about, **scope}}, {"X-Subject-Token": TOKEN})

    def _answer(self, status: int, content: Data, headers: Mapping[str, str] | None = None) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        given = {"Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})}
        for name, value in given.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Keep silent."""


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    """Run one."""
    found = Cloud()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"cloud": found}))
    found.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

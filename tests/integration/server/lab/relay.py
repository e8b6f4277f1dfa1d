# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A reverse proxy that keeps all that goes through it, and changes what a test wants changed."""

from __future__ import annotations

import base64
import http.client
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

_HOP = ("connection", "transfer-encoding", "content-length", "server", "date", "host", "accept-encoding")


@dataclass
class Call:
    """One request and its answer."""

    method: str
    path: str
    body: bytes
    status: int = 0
    answer: bytes = b""


class Relay(ThreadingHTTPServer):
    """Passes requests on to ``target``, a URL without a path."""

    daemon_threads = True

    def __init__(self, host: str, target: str) -> None:
        super().__init__((host, 0), _Handler)
        self.target = urlsplit(target).netloc
        self.url = f"http://{host}:{self.server_address[1]}"
        self.calls: list[Call] = []
        self.refuse: Callable[[Call], int | None] = lambda _: None
        """Returns the status with which a call is refused and not passed on."""
        self.change: Callable[[Call], None] = lambda _: None
        """Changes an answer on its way back."""
        self.login: tuple[str, str] | None = None
        """User and password that take the place of those that came."""

    def said(self, method: str, part: str) -> list[Call]:
        """Return the calls of a method whose path holds a text."""
        return [call for call in self.calls if call.method == method and part in call.path]


class SlowPower:
    """Lets a BMC say On for a while after it has taken the order to switch off, as real ones do."""

    lag = 2.0  # seconds

    def __init__(self, bmc: Relay, system: str) -> None:
        self._system, self._until = system, 0.0
        bmc.change = self._change

    def _change(self, call: Call) -> None:
        if call.path.endswith("ComputerSystem.Reset") and b'"On"' not in call.body:
            self._until = time.monotonic() + self.lag
        if call.method == "GET" and call.path == self._system and time.monotonic() < self._until:
            call.answer = call.answer.replace(b'"Off"', b'"On"')


class _Handler(BaseHTTPRequestHandler):
    server: Relay

    def _relay(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        call = Call(self.command, self.path, self.rfile.read(length))
        refused = self.server.refuse(call)
        headers = {} if refused else self._pass_on(call)
        call.status = refused or call.status
        self.server.change(call)
        self.server.calls.append(call)
        self.send_response(call.status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(call.answer)))
        self.end_headers()
        self.wfile.write(call.answer)

    def _pass_on(self, call: Call) -> dict[str, str]:
        connection = http.client.HTTPConnection(self.server.target, timeout=60)
        given = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
        if self.server.login and "Authorization" in given:
            given["Authorization"] = "Basic " + base64.b64encode(":".join(self.server.login).encode()).decode()
        connection.request(call.method, call.path, body=call.body or None, headers=given)
        answer = connection.getresponse()
        call.status, call.answer = answer.status, answer.read()
        connection.close()
        return {name: value for name, value in answer.getheaders() if name.lower() not in _HOP}

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _relay

    def log_message(self, *_: object) -> None:
        """Say nothing: the calls are kept."""


@contextmanager
def relay(host: str, target: str) -> Iterator[Relay]:
    """Serve from a thread while the context lasts."""
    with Relay(host, target) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        try:
            yield made
        finally:
            made.shutdown()

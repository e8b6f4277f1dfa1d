# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Answer on the port of the API while there is none yet: its database may be away for long.

It needs the standard library only: the process that will be the supervisor uses it too.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import socket
from typing import Any

_WHY = "the daemon starts: it waits for its database, or brings it up to date; see its log"
_FAULT = {"faultcode": "Server", "faultstring": f"Not ready: {_WHY}. Try again later.", "debuginfo": None}
_ANSWERS: dict[str, tuple[int, dict[str, Any]]] = {
    "/healthz": (200, {"alive": True}),
    "/readyz": (503, {"ready": False, "checks": {"database": _WHY}}),
}
_PATIENCE = 5.0
"""Seconds without an answer, as long as a start may take: who comes then waits for the API, and is not refused."""
_PAUSE = 0.1  # seconds between two looks whether to end


class _Handler(BaseHTTPRequestHandler):
    timeout = 10  # seconds that a client may be silent

    def _answer(self) -> None:
        path = self.path.partition("?")[0]
        status, content = _ANSWERS.get(path, (503, {"error_message": json.dumps(_FAULT)}))
        body = json.dumps(content).encode()
        self.send_response_only(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body if self.command != "HEAD" else b"")

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _answer

    def log_message(self, *_: Any) -> None:
        """Log no requests, as the API does not."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """Let a client go that has gone."""


@contextmanager
def answering(listener: socket) -> Iterator[None]:
    """Say inside, once that takes long, that the daemon is alive and not ready; leave the socket open behind it."""
    server = _Server(listener.getsockname(), _Handler, bind_and_activate=False)
    server.socket.close()
    server.socket, server.timeout = listener, _PAUSE
    over = threading.Event()

    def serve() -> None:
        over.wait(_PATIENCE)
        while not over.is_set():
            server.handle_request()

    thread = threading.Thread(target=serve, name="waiting", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()

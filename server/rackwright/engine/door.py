# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The unix socket through which a run asks for its nodes; secrets leave the daemon here and nowhere else.

One request a connection: one line ``{"run": id}`` or ``{"run": id, "step": index, "mark": text}``, one JSON object
back.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import socketserver
import struct
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from rackwright.domain.errors import Invalid, RackwrightError

logger = logging.getLogger(__name__)

Answer = Callable[[str, int | None, str | None], dict[str, Any]]
"""Takes run id, position of the step and mark; returns the contexts by node. Raises RackwrightError."""

_LONGEST_PATH = 107  # bytes that the kernel has for the path of a unix socket
_LONGEST_LINE = 4096
_PATIENCE = 10.0  # seconds that a client may take for its one line


class DoorInvalid(Invalid):
    """The door cannot be opened at {path}: {reason}."""


class Door(socketserver.ThreadingUnixStreamServer):
    """Serve the socket on threads of its own until it is closed."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, path: Path, answer: Answer) -> None:
        """Open the door; its folder must be ours alone. Raises DoorInvalid."""
        self.answer = answer
        if len(os.fsencode(path)) > _LONGEST_PATH:
            raise DoorInvalid(path=path, reason=f"the path is longer than {_LONGEST_PATH} bytes; move state_dir")
        path.unlink(missing_ok=True)
        try:
            super().__init__(str(path), _Handler)
        except OSError as error:
            raise DoorInvalid(path=path, reason=str(error)) from error
        path.chmod(0o600)

    def open(self) -> None:
        """Begin to serve."""
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.2}, name="door", daemon=True).start()

    def handle_error(self, request: object, client_address: object) -> None:
        """Log what went wrong with one connection, unless the run was ended meanwhile; the door stays open."""
        del request, client_address
        if not isinstance(error := sys.exception(), ConnectionError):
            logger.error("A request at the door was not answered", exc_info=error)


class _Handler(socketserver.StreamRequestHandler):
    server: Door
    timeout = _PATIENCE

    def handle(self) -> None:
        """Answer the one request of this connection."""
        if _uid(self.connection) != os.getuid():
            return
        try:
            reply: dict[str, Any] = {"nodes": self._answer(self.rfile.readline(_LONGEST_LINE))}
        except RackwrightError as error:
            reply = {"error": str(error)}
        self.wfile.write(_written(reply) + b"\n")

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
            run, step, mark = str(request["run"]), request.get("step"), request.get("mark")
            index = None if step is None else int(step)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise Invalid('A request at the door is one line of JSON such as {"run": "..."}.') from error
        return self.server.answer(run, index, None if mark is None else str(mark))


def _written(reply: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(reply, default=str)
    except TypeError:  # half of a surrogate pair, as some firmware reports it
        return json.dumps(reply, default=str).encode()


def _uid(connection: socket.socket) -> int:
    """Return the user of the process at the other end."""
    size = struct.calcsize("3i")
    _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return int(uid)

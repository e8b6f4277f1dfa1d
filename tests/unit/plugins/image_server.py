# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small web server for images: ranges, redirects, and the ways in which real ones are difficult."""

from __future__ import annotations

import re
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from ansible_collections.rackwright.metal.tests.unit.plugins.agent_server import certificate


class ImageServer:
    """``files`` by path, ``redirects`` by path (status and location), and what was asked."""

    def __init__(self, folder: Path | None = None) -> None:
        self.files: dict[str, bytes] = {}
        self.redirects: dict[str, tuple[int, str]] = {}
        self.etags: dict[str, str] = {}
        self.ranges = True
        self.headers: list[tuple[str, str, dict[str, str]]] = []
        self.ca = ""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.images = self  # type: ignore[attr-defined]  # the handler finds us there
        if folder is not None:
            self.ca, file = certificate(datetime.now(UTC) - timedelta(hours=1), folder)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(file)
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self.host = f"127.0.0.1:{self._server.server_port}"
        self.url = f"{'https' if folder else 'http'}://{self.host}"

    @contextmanager
    def running(self) -> Iterator[ImageServer]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()

    def asked(self) -> list[tuple[str, str]]:
        """Return method and path of each request."""
        return [(method, path) for method, path, _headers in self.headers]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Any

    def do_HEAD(self) -> None:
        self._record()
        self._answer(403, b"")

    def do_GET(self) -> None:
        images: ImageServer = self.server.images
        path = self._record()
        if path in images.redirects:
            status, location = images.redirects[path]
            return self._answer(status, b"", {"Location": location})
        if path not in images.files:
            return self._answer(404, b"nothing here")
        etag = images.etags.get(path)
        return self._file(images.files[path], images.ranges, {"ETag": etag} if etag else {})

    def _file(self, content: bytes, ranges: bool, headers: dict[str, str]) -> None:
        wanted = re.fullmatch(r"bytes=0-(\d+)", self.headers.get("Range") or "")
        if not wanted or not ranges:
            return self._answer(200, content, headers)
        part = content[: int(wanted[1]) + 1]
        return self._answer(206, part, {"Content-Range": f"bytes 0-{len(part) - 1}/{len(content)}"})

    def _record(self) -> str:
        path = self.path.partition("?")[0]
        self.server.images.headers.append((self.command, path, dict(self.headers)))
        return path

    def _answer(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        try:
            self.send_response(status)
            for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

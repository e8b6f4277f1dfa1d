# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A small HTTP server that speaks Ironic's v1 API, as far as nodes, ports and provision verbs go."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import jsonpatch

Data = dict[str, Any]
PAGE = 2
WAYS = {
    "manage": ("verifying", "manageable"),
    "inspect": ("inspecting", "manageable"),
    "provide": ("cleaning", "available"),
    "active": ("deploying", "active"),
    "rebuild": ("deploying", "active"),
    "deleted": ("deleting", "available"),
    "adopt": ("adopting", "active"),
}


class ApiServer:
    """What a test sees of the API: its nodes and ports, the requests that came, and what it will answer.

    A verb takes as long as ``looks`` listings of the nodes; ``failing`` holds the verbs that end badly, by node.
    """

    def __init__(self) -> None:
        self.nodes: list[Data] = []
        self.ports: list[Data] = []
        self.requests: list[tuple[str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.prepared: list[tuple[int, Any]] = []
        self.drives: tuple[int, Any] = (200, [])
        self.silences = 0
        self.looks = 1
        self.failing: dict[str, str] = {}
        self._pending: dict[str, tuple[int, Data]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.api = self  # type: ignore[attr-defined]  # the handler finds us there
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @contextmanager
    def running(self) -> Iterator[ApiServer]:
        self._thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()

    def add(self, name: str, state: str = "enroll", **fields: Any) -> Data:
        """Add a node."""
        node = {
            "uuid": f"00000000-0000-4000-8000-{len(self.nodes):012}",
            "name": name,
            "driver": "fake-hardware",
            "provision_state": state,
            "target_provision_state": None,
            "last_error": None,
            "inspection_finished_at": None,
            "inspect_interface": "fake",
            "clean_step": {},
            "deploy_step": {},
            **{kind: {} for kind in ("driver_info", "properties", "extra", "instance_info")},
            **fields,
        }
        self.nodes.append(node)
        return node

    def find(self, ident: str) -> Data | None:
        """Return a node by name or UUID."""
        return next((node for node in self.nodes if ident in (node["uuid"], node["name"])), None)

    def writes(self) -> list[tuple[str, str]]:
        """Return the requests that ask for a change."""
        return [request for request in self.requests if request[0] != "GET"]

    def answer(self, method: str, path: str, query: Data, body: Any) -> tuple[int, Any]:
        """Answer one request."""
        kind, *rest = [unquote(part) for part in path.split("/")]
        if method == "GET" and not rest and kind == "nodes":
            return 200, self._list_nodes(query)
        if method == "GET" and rest:
            return self._show(path, query)
        if method == "POST":
            return 201, self.add(**body) if kind == "nodes" else self._add_port(body)
        found = self._member(kind, rest[0])
        if found is None:
            return 404, fault(f"There is no {rest[0]}.")
        if method == "PUT":
            return self._start(found, body)
        if method == "PATCH":
            found.update(jsonpatch.apply_patch(found, body))
        if method == "DELETE":
            (self.nodes if kind == "nodes" else self.ports).remove(found)
            return 204, None
        return 200, found

    def _show(self, path: str, query: Data) -> tuple[int, Any]:
        if path.endswith("/vmedia"):
            return self.drives
        if path == "ports/detail":
            return 200, {"ports": [port for port in self.ports if port["address"] == query["address"]]}
        found = self._member(*path.split("/")[:2])
        return (404, fault(f"There is no {path}.")) if found is None else (200, found)

    def _member(self, kind: str, ident: str) -> Data | None:
        members = self.nodes if kind == "nodes" else self.ports
        return next((one for one in members if unquote(ident) in (one["uuid"], one.get("name"))), None)

    def _add_port(self, body: Data) -> Data:
        port = {"uuid": f"10000000-0000-4000-8000-{len(self.ports):012}", "extra": {}, **body}
        self.ports.append(port)
        return port

    def _list_nodes(self, query: Data) -> Data:
        start = int(query.get("marker", 0))
        if not start:
            self._pass_time()
        page = {"nodes": self.nodes[start : start + PAGE]}
        rest = self.nodes[start + PAGE :]
        return {**page, "next": f"{self.url}/v1/nodes?marker={start + PAGE}"} if rest else page

    def _start(self, node: Data, body: Data) -> tuple[int, Any]:
        during, after = WAYS[body["target"]]
        end = {"provision_state": after, "last_error": None}
        if body["target"] == "inspect":
            end["inspection_finished_at"] = "2026-01-01T00:00:00+00:00"
        if self.failing.get(node["name"]) == body["target"]:
            end = {"provision_state": f"{body['target']} failed", "last_error": "The BMC is on fire."}
        node.update(provision_state=during, target_provision_state=after, body=body)
        self._pending[node["uuid"]] = (self.looks, {**end, "target_provision_state": None})
        return 202, None

    def _pass_time(self) -> None:
        for node in self.nodes:
            if node["uuid"] not in self._pending:
                continue
            looks, end = self._pending[node["uuid"]]
            if looks:
                self._pending[node["uuid"]] = (looks - 1, end)
            else:
                node.update(self._pending.pop(node["uuid"])[1])


def fault(text: str) -> Data:
    """Return an error body as Ironic writes it."""
    return {"error_message": json.dumps({"faultcode": "Client", "faultstring": text, "debuginfo": None})}


class _Handler(BaseHTTPRequestHandler):
    server: Any

    def do_GET(self) -> None:
        api: ApiServer = self.server.api
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        api.requests.append((self.command, self.path))
        api.headers.append(dict(self.headers))
        if api.silences:
            api.silences -= 1
            return
        path, query = parts.path.removeprefix("/v1/"), dict(parse_qsl(parts.query))
        prepared = api.prepared.pop(0) if api.prepared else None
        status, answer = prepared or api.answer(self.command, path, query, json.loads(body or b"null"))
        content = answer if isinstance(answer, bytes) else b"" if answer is None else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_PUT = do_PATCH = do_DELETE = do_GET

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

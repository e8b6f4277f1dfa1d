# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What operators of other services ran into with their APIs; each case has the name it has on our list of them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from tests.unit.server.api_house import MAC, NODE, House
from tests.unit.server.site_house import Site

MIB = 2**20


def test_delete_succeeds_but_says_409(house: House) -> None:
    nodes, told = [house.node() for _ in range(50)], dict[str, list[int]]()

    def remove(uuid: str) -> None:
        answers = [house.call("DELETE", f"/nodes/{uuid}").status_code for _ in range(2)]
        assert house.call("GET", f"/nodes/{uuid}").status_code == 404
        told.setdefault(uuid, []).extend(answers)

    with ThreadPoolExecutor(8) as clients:
        for _ in clients.map(remove, [uuid for uuid in nodes for _ in range(2)]):
            pass
    assert len(told) == 50
    assert {tuple(sorted(each)) for each in told.values()} == {(204, 404, 404, 404)}


def test_json_patch_escaped_keys(house: House) -> None:
    uuid = house.node(extra={"a/b": 1, "m~n": 2, "é": 3, "list": [1, 2], "": 0})
    patch = [
        {"op": "replace", "path": "/extra/a~1b", "value": 5},
        {"op": "remove", "path": "/extra/m~0n"},
        {"op": "add", "path": "/extra/x~1y", "value": {"~": "/"}},
        {"op": "test", "path": "/extra/é", "value": 3},
        {"op": "test", "path": "/extra/", "value": 0},
        {"op": "add", "path": "/extra/list/-", "value": 3},
        {"op": "copy", "from": "/extra/x~1y/~0", "path": "/extra/~01"},
        {"op": "move", "from": "/extra/é", "path": "/extra/moved"},
    ]
    answer = house.call("PATCH", f"/nodes/{uuid}", patch)
    assert answer.status_code == 200, answer.text
    wanted = {"a/b": 5, "x/y": {"~": "/"}, "list": [1, 2, 3], "~1": "/", "moved": 3, "": 0}
    assert answer.json()["extra"] == wanted
    for path in (
        "/extra/~2",
        "/extra/~",
        "/extra//deeper",
        "/extra/list/01",
        "/extra/list/-1",
        "/~0",
        "//",
        "/extra/é",
    ):
        bad = house.call("PATCH", f"/nodes/{uuid}", [{"op": "replace", "path": path, "value": 1}])
        assert bad.status_code == 400, path
    assert house.call("GET", f"/nodes/{uuid}").json()["extra"] == wanted


class Hostile:
    """A client that sends a body piece by piece, as much of it as is read."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self.sent = 0

    def send(self, method: str, path: str, pieces: Iterator[bytes], length: int | None = None) -> int:
        """Return the status of the answer."""
        self.sent = 0
        return asyncio.run(self._send(method, path, pieces, length))

    async def _send(self, method: str, path: str, pieces: Iterator[bytes], length: int | None) -> int:
        status: list[int] = []

        async def receive() -> dict[str, Any]:
            piece = next(pieces, b"")
            self.sent += len(piece)
            return {"type": "http.request", "body": piece, "more_body": bool(piece)}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                status.append(message["status"])

        headers = [(b"content-type", b"application/json"), (b"x-openstack-ironic-api-version", b"1.115")]
        if length is not None:
            headers.append((b"content-length", str(length).encode()))
        scope: dict[str, Any] = {"type": "http", "method": method, "path": path, "raw_path": path.encode()}
        scope |= {"query_string": b"", "headers": headers, "server": ("testserver", 80), "scheme": "http"}
        await self._app(scope | {"client": ("192.0.2.1", 1), "http_version": "1.1"}, receive, send)
        return status[0]


def _resident() -> int:
    """Return the memory of this process, in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


HOSTILE: dict[str, tuple[str, Callable[[], Iterator[bytes]], int | None]] = {
    "nested": ("POST", lambda: iter([b"[" * 100_000 + b"]" * 100_000]), None),
    "huge": ("POST", lambda: (b'{"a": "' + b"x" * MIB for _ in range(200)), None),
    "huge and announced": ("POST", lambda: (b"x" * MIB for _ in range(200)), 200 * MIB),
    "absurdly announced": ("POST", lambda: iter([b"{}"]), 10**19),
    "many operations": (
        "PATCH",
        lambda: iter([b"[" + b",".join([b'{"op":"test","path":"/a"}'] * 30_000) + b"]"]),
        None,
    ),
    "many numbers": ("POST", lambda: iter([b'{"a": ' + b"9" * 900_000 + b"}"]), None),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("path", ["/v1/nodes", f"/v1/nodes/{NODE}", "/v1/continue_inspection", f"/v1/heartbeat/{NODE}"])
def test_hostile_json_bodies(house: House, name: str, path: str) -> None:
    method, pieces, length = HOSTILE[name]
    house.node(uuid=NODE)
    client = Hostile(house.app)
    before, start = _resident(), time.monotonic()
    if method == "PATCH" and not path.endswith(NODE):
        method = "POST"
    status = client.send(method, path, pieces(), length)
    assert 400 <= status < 500
    assert time.monotonic() - start < 3  # a second on a machine that does nothing else
    assert _resident() - before < 50 * MIB
    assert client.sent <= 17 * MIB
    assert house.call("GET", f"/nodes/{NODE}").status_code == 200


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.close()


def _manageable(site: Site, **fields: Any) -> None:
    assert site.call("POST", "/nodes", {"uuid": NODE, "driver": "fake-hardware", **fields}).status_code == 201
    site.change(NODE, provision_state="manageable", power_state="power off")


def test_long_error_text_breaks_history(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    cause = "begin " + "€\0" * 100_000 + " end"
    _manageable(site, driver_info={"fake_fail": "bios.factory_reset"})

    def failing(_: Any) -> Any:
        raise RuntimeError(cause)

    monkeypatch.setattr("tests.unit.server.site_house.act", failing)
    steps = [{"interface": "bios", "step": "factory_reset"}]
    verb = {"target": "clean", "clean_steps": steps}
    assert site.call("PUT", f"/nodes/{NODE}/states/provision", verb).status_code == 202
    site.settle(NODE)
    node = site.call("GET", f"/nodes/{NODE}").json()
    assert node["provision_state"] == "clean failed"
    history = site.call("GET", f"/nodes/{NODE}/history?detail=true").json()["history"]
    (event,) = [each["event"] for each in history if each["severity"] == "ERROR"]
    for text in (node["last_error"], event):
        assert "bios.factory_reset" in text and "begin €" in text and "€ end" in text
        assert "\0" not in text and len(text.encode()) <= 65_536
    short = site.call("GET", f"/nodes/{NODE}/history").json()["history"]
    assert all(len(each["event"]) <= 255 for each in short)


@pytest.mark.parametrize("state", ["enroll", "verifying", "clean wait", "clean failed", "active", "inspect wait"])
def test_cannot_delete_host_with_dead_bmc(house: House, state: str) -> None:
    running = state == "verifying"
    columns = {"provision_state": state, "target_provision_state": "manageable" if running else None}
    uuid = house.node(name="n1", driver_info={"bmc": "192.0.2.1"})
    house.port(uuid)
    if running:
        assert house.call("PUT", f"/nodes/{uuid}/states/provision", {"target": "manage"}).status_code == 202
    else:
        house.set(uuid, **columns)
    start = time.monotonic()
    assert house.call("PUT", f"/nodes/{uuid}/maintenance", {"reason": "the BMC is dead"}).status_code == 202
    assert house.call("DELETE", f"/nodes/{uuid}").status_code == 204
    assert time.monotonic() - start < 5
    again = house.node(name="n1", driver_info={"bmc": "192.0.2.1"})
    assert house.call("GET", f"/ports/{house.port(again)}").json()["address"] == MAC


def test_two_clients_patch_one_node_at_once(house: House) -> None:
    uuid, statuses = house.node(extra={}), Counter[int]()
    gate = threading.Barrier(8)

    def write(number: int) -> None:
        gate.wait()
        for turn in range(5):
            patch = [{"op": "add", "path": f"/extra/{number}-{turn}", "value": turn}]
            statuses[house.call("PATCH", f"/nodes/{uuid}", patch).status_code] += 1

    with ThreadPoolExecutor(8) as clients:
        list(clients.map(write, range(8)))
    assert statuses == {200: 40}
    assert len(house.call("GET", f"/nodes/{uuid}").json()["extra"]) == 40

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Measure the CPU time that the API process spends on one heartbeat, over real HTTP against uvicorn.

Run it as ``python -m tests.benchmark.heartbeat [beats] [nodes]``, from the root of the tree. Linux only.
"""

from __future__ import annotations

import multiprocessing
import os
import socket
import sys
import tempfile
import time
from pathlib import Path

import httpx
import uvicorn

from rackwright.app import create_app
from rackwright.catalog import Catalog
from tests.unit.server.agent_house import URL, House, certificate

HEADERS = {"X-OpenStack-Ironic-API-Version": "1.68"}
MOST_BEATS = 20_000
TICKS = os.sysconf("SC_CLK_TCK")


def serve(house: House, listener: socket.socket) -> None:
    app = create_app(house.settings, Catalog((), {}, {}))
    uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[listener])


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def populate(house: House, count: int) -> dict[str, str]:
    """Add nodes that wait for their agents; return the token of each."""
    tokens = {}
    for number in range(count):
        uuid, mac = f"00000000-0000-4000-8000-{number:012x}", f"00:1b:21:01:{number // 256:02x}:{number % 256:02x}"
        house.add(uuid, mac)
        house.wait(uuid=uuid)
        tokens[uuid] = house.token(mac)
    return tokens


def beat(client: httpx.Client, uuid: str, token: str) -> None:
    body = {
        "callback_url": URL,
        "agent_token": token,
        "agent_version": "13.0.0",
        "agent_verify_ca": certificate("agent"),
    }
    answer = client.post(f"/v1/heartbeat/{uuid}", json=body, headers=HEADERS)
    if answer.status_code != 202:
        raise SystemExit(f"{answer.status_code}: {answer.text}")


def measure(client: httpx.Client, pid: int, tokens: dict[str, str], beats: int) -> tuple[float, float]:
    """Return CPU and wall seconds of one heartbeat."""
    uuids = list(tokens)
    for uuid in uuids:  # the first heartbeat of each stores its certificate and wakes its operation
        beat(client, uuid, tokens[uuid])
    cpu, wall = cpu_seconds(pid), time.monotonic()
    for number in range(beats):
        uuid = uuids[number % len(uuids)]
        beat(client, uuid, tokens[uuid])
    return (cpu_seconds(pid) - cpu) / beats, (time.monotonic() - wall) / beats


def main(beats: int = 2000, nodes: int = 50) -> None:
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as listener:
        house = House(Path(folder))
        tokens = populate(house, nodes)
        house.database.dispose()
        server = multiprocessing.get_context("fork").Process(target=serve, args=(house, listener), daemon=True)
        server.start()
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=60) as client:
                cpu, wall = measure(client, server.pid or 0, tokens, min(beats, MOST_BEATS))
        finally:
            server.terminate()
            server.join()
    sys.stdout.write(f"{cpu * 1000:.2f} ms CPU and {wall * 1000:.2f} ms wall time for a heartbeat\n")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:3]))

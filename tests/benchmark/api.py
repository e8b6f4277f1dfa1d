# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Measure our API and a real Ironic beside it: the same load on the same machine, in turns.

Run it as ``python -m tests.benchmark.api [rounds] [rackwright,sqlite,mariadb]`` from the root of the tree; Linux only.
``sqlite`` and ``mariadb`` are Ironic on that database. CPU time is that of all processes of a server, its database
included, until a moment after the last answer: Ironic does part of its work after it has answered.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests import peer_ironic
from tests.benchmark.load import Request, drive
from tests.benchmark.processes import Memory, cpu, memory
from tests.integration.server.daemon_house import Daemon
from tests.unit.server.agent_house import certificate

NODES, AGENTS, ROUNDS, MOST_ROUNDS = 1000, 8, 5, 20
CALM = 1.0
"""Seconds after a load in which a server may still work on it."""
SETTLE = 10.0
"""Seconds after which a server counts as idle."""

_STATE = "update {table} set provision_state = 'deploying' where name like 'agent-%'"


@dataclass
class Server:
    """One server under test."""

    name: str
    port: int
    pids: Sequence[int]
    sql: Callable[[str], object]
    """Run a statement in its database."""
    table: str
    """Its table of nodes."""
    tokens: dict[str, str] = field(default_factory=dict)
    """The tokens of the nodes that have an agent."""
    serial: int = 0

    def do(self, requests: Sequence[Request]) -> list[Any]:
        """Send requests that must be accepted; return the bodies in the order of arrival."""
        answers = drive("127.0.0.1", self.port, requests)
        if answers.refused:
            raise RuntimeError(f"{self.name} refused: {answers.refused[0].decode()}")
        return [json.loads(each) for each in answers.bodies]

    def numbers(self, count: int) -> range:
        """Return numbers that this server has not been given yet."""
        self.serial += count
        return range(self.serial - count, self.serial)


class Job(NamedTuple):
    """One load: its requests, how many, and how much faster than Ironic we have to be."""

    name: str
    requests: Callable[[Server, int], list[Request]]
    number: int
    target: int
    units: int = 1
    """What one request counts as."""


class Figure(NamedTuple):
    """What one load gave: units a second, CPU milliseconds for a request, and requests that were refused."""

    rate: float
    cpu: float
    refused: int


def _node(number: int) -> dict[str, Any]:
    return {
        "driver": "fake-hardware",
        "name": f"node-{number}",
        "resource_class": "baremetal",
        "properties": {"cpu_arch": "x86_64", "cpus": 64, "memory_mb": 262144, "capabilities": "boot_mode:uefi"},
        "driver_info": {
            "redfish_address": f"https://10.0.{number // 250}.{number % 250}",
            "redfish_password": "secret",
        },
        "extra": {"rack": f"r{number // 40}", "position": number % 40},
    }


def _address(number: int) -> str:
    return f"52:54:00:00:00:{number:02x}"


def _create(server: Server, count: int) -> list[Request]:
    return [Request("POST", "/v1/nodes", _node(number)) for number in server.numbers(count)]


def _list(_: Server, count: int) -> list[Request]:
    return [Request("GET", f"/v1/nodes/detail?limit={NODES}")] * count


def _show(_: Server, count: int) -> list[Request]:
    return [Request("GET", f"/v1/nodes/node-{number}") for number in range(count)]


def _change(_: Server, count: int) -> list[Request]:
    patch = [{"op": "add", "path": "/extra/seen", "value": time.time()}]
    return [Request("PATCH", f"/v1/nodes/node-{number}", patch) for number in range(count)]


def _lookup(_: Server, count: int) -> list[Request]:
    return [Request("GET", f"/v1/lookup?addresses={_address(number % AGENTS)}") for number in range(count)]


def _heartbeat(server: Server, count: int) -> list[Request]:
    beats = []
    for number in range(count):
        uuid, token = list(server.tokens.items())[number % AGENTS]
        said = {"callback_url": f"https://10.0.0.{number % AGENTS + 1}:9999", "agent_token": token}
        said |= {"agent_version": "11.5.0", "agent_verify_ca": certificate("agent")}
        beats.append(Request("POST", f"/v1/heartbeat/{uuid}", said))
    return beats


JOBS = (
    Job(f"list of {NODES} nodes with details (nodes)", _list, 16, 5, NODES),
    Job("show a node", _show, 300, 4),
    Job("change a node (PATCH)", _change, 100, 4),
    Job("create a node", _create, 100, 4),
    Job("lookup", _lookup, 160, 5),
    Job("heartbeat", _heartbeat, 160, 5),
)


@contextlib.contextmanager
def rackwright(folder: Path) -> Iterator[Server]:
    """Run our daemon."""
    daemon = Daemon(folder)
    try:
        yield Server(
            "rackwright", daemon.port, [daemon.process.pid], _sqlite(daemon.state / "rackwright.sqlite"), "node"
        )
    finally:
        daemon.stop()


@contextlib.contextmanager
def ironic(folder: Path, database: peer_ironic.Database) -> Iterator[Server]:
    """Run an Ironic."""
    port = urlsplit(peer_ironic.start(folder, database)).port or 0
    door = ["mariadb", "--no-defaults", f"--socket={folder}/mariadb.sock", "--user=root", "ironic", "--execute"]
    sql = _mariadb(door) if database == "mariadb" else _sqlite(folder / "ironic.sqlite")
    try:
        yield Server(f"Ironic, {database}", port, peer_ironic.started(folder), sql, "nodes")
    finally:
        peer_ironic.stop(folder)


def _mariadb(door: Sequence[str]) -> Callable[[str], object]:
    return lambda text: subprocess.run([*door, text], check=True)


def _sqlite(path: Path) -> Callable[[str], object]:
    def run(text: str) -> None:
        with contextlib.closing(sqlite3.connect(path, timeout=30)) as connection, connection:
            connection.execute(text)

    return run


SERVERS: Mapping[str, Callable[[Path], contextlib.AbstractContextManager[Server]]] = {
    "rackwright": rackwright,
    "sqlite": partial(ironic, database="sqlite"),
    "mariadb": partial(ironic, database="mariadb"),
}


def furnish(server: Server) -> None:
    """Give a server its nodes, and let some of them wait for the next word of their agents."""
    server.do(_create(server, NODES))
    for number in range(AGENTS):
        agent = {"driver": "fake-hardware", "name": f"agent-{number}", "deploy_interface": "direct"}
        (node,) = server.do([Request("POST", "/v1/nodes", agent)])
        server.do([Request("POST", "/v1/ports", {"node_uuid": node["uuid"], "address": _address(number)})])
    server.sql(_STATE.format(table=server.table))
    for number in range(AGENTS):
        (found,) = server.do([Request("GET", f"/v1/lookup?addresses={_address(number)}")])
        server.tokens[found["node"]["uuid"]] = found["config"]["agent_token"]
    for beat in _heartbeat(server, AGENTS):  # an agent that has proved its token keeps it
        drive("127.0.0.1", server.port, [beat], connections=1)


def measure(server: Server, job: Job) -> Figure:
    """Put one load on a server."""
    requests = job.requests(server, job.number)
    before = cpu(*server.pids)
    answers = drive("127.0.0.1", server.port, requests)
    time.sleep(CALM)
    spent = cpu(*server.pids) - before
    rate = len(answers.bodies) * job.units / answers.seconds
    return Figure(rate, spent * 1000 / job.number, len(answers.refused))


def compare(servers: Sequence[Server], rounds: int) -> Mapping[tuple[str, str], list[Figure]]:
    """Put every load on every server in turns; the first round warms up and does not count."""
    found: dict[tuple[str, str], list[Figure]] = {}
    for turn in range(rounds + 1):
        for job in JOBS:
            for server in servers:
                figure = measure(server, job)
                if turn:
                    found.setdefault((job.name, server.name), []).append(figure)
        tell(f"<!-- round {turn} of {rounds} -->")
    return found


def report(servers: Sequence[Server], found: Mapping[tuple[str, str], list[Figure]]) -> None:
    """Write the medians as a table; the last column compares us with the faster Ironic."""
    names = [server.name for server in servers]
    tell(f"| a second (CPU ms for each) | {' | '.join(names)} | times as fast | at least |")
    tell("|---" * (len(names) + 3) + "|")
    for job in JOBS:
        figures = [_median(found[job.name, name]) for name in names]
        cells = " | ".join(_cell(each) for each in figures)
        best = max((each.rate for each in figures[1:]), default=0)
        tell(f"| {job.name} | {cells} | {f'{figures[0].rate / best:.1f}' if best else ''} | {job.target} |")


def _median(figures: Sequence[Figure]) -> Figure:
    rates, costs, refused = zip(*figures, strict=True)
    return Figure(statistics.median(rates), statistics.median(costs), sum(refused))


def _cell(figure: Figure) -> str:
    refused = f", {figure.refused} refused" if figure.refused else ""
    return f"{figure.rate:,.0f} ({figure.cpu:.1f}{refused})"


def report_memory(title: str, servers: Sequence[Server], found: Sequence[Memory]) -> None:
    """Write the memory of every server in one line."""
    each = (f"{server.name} {taken.rss:.0f} ({taken.pss:.0f})" for server, taken in zip(servers, found, strict=True))
    tell(f"Memory {title}, MiB RSS (PSS): {'; '.join(each)}")


def tell(line: str) -> None:
    """Write one line."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(rounds: str = str(ROUNDS), wanted: str = ",".join(SERVERS)) -> None:
    """Measure the wanted servers."""
    with contextlib.ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = []
        for name in wanted.split(","):
            (folder := place / name).mkdir()
            servers.append(stack.enter_context(SERVERS[name](folder)))
        time.sleep(SETTLE)
        idle = [memory(*server.pids) for server in servers]
        for server in servers:
            furnish(server)
        count = min(int(rounds), MOST_ROUNDS)
        found = compare(servers, count)
        tell(f"Python {platform.python_version()}, {os.cpu_count()} processors, median of {count} rounds")
        report(servers, found)
        report_memory("idle after start", servers, idle)
        report_memory("after the load", servers, [memory(*server.pids) for server in servers])


if __name__ == "__main__":
    main(*sys.argv[1:])

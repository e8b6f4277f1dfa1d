# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Take simulated machines from enroll to active, with inspection and cleaning, and tell what that takes of the daemon.

Run it as ``python -m tests.benchmark.fleet [machines] [setting=value ...] [--boot seconds] [--beside ironic]``, from
the root of the tree; ``--beside``, as often as you like, has another server do the same work then. Linux only. The
simulator runs beside and is not counted, nor is the web server that has the image. A step of an agent takes 0.5 s; its
heartbeat follows at once.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rackwright_lab.simulated import history
from tests.benchmark.fleet_servers import PEERS, Server
from tests.benchmark.processes import cpu, memory
from tests.integration.server.simulated_house import Rack, running

BOOT = 2.0
"""Seconds that a machine takes to boot. Ironic needs more: it refuses reports that come before it waits for them."""

MACHINES = ("--step-seconds=0.5", "--beat-seconds=0")
LIMIT = 3600.0
POLL = 1.0
FAULTS = 5
"""How many faults of the histories are told."""

_LAST = {"enroll": "manage", "available": "active"}
_SECOND = ("inspect", "provide")


class GaveUpError(Exception):
    """A server could not take all machines to active."""


@dataclass
class Peak:
    """The most memory that a server had, MiB, and the CPU seconds of its processes at the last look, by name."""

    rss: float = 0.0
    pss: float = 0.0
    cpu: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)


@contextmanager
def watched(server: Server) -> Iterator[Peak]:
    """Look at a server again and again."""
    peak, over = Peak(), threading.Event()

    def look() -> None:
        while not over.wait(POLL):
            now = memory(*server.pids())
            peak.rss, peak.pss = max(peak.rss, now.rss), max(peak.pss, now.pss)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield peak
    finally:
        over.set()
        thread.join()
    peak.cpu, peak.parts = cpu(*server.pids()), server.parts()


def live(server: Server, uuids: Sequence[str]) -> None:
    """Ask each node for its next verb as soon as it rests; return when all are active, or raise GaveUpError."""
    asked: dict[str, list[str]] = {uuid: [] for uuid in uuids}
    end = time.monotonic() + LIMIT
    while True:
        seen = server.nodes()
        for uuid, verbs in asked.items():
            verb = _next(seen[uuid], verbs)
            if verb and server.ask(uuid, verb):
                verbs.append(verb)
        if all(node["provision_state"] == "active" for node in seen.values()):
            return
        if time.monotonic() > end:
            raise GaveUpError(f"not all are active after {LIMIT} s: {_states(seen)}")
        time.sleep(POLL)


def _next(node: Mapping[str, Any], verbs: Sequence[str]) -> str | None:
    if node["last_error"]:
        raise GaveUpError(f"{node['provision_state']}: {node['last_error']}")
    if node["reservation"] or node["target_provision_state"]:
        return None
    state = node["provision_state"]
    wanted = _SECOND["inspect" in verbs] if state == "manageable" else _LAST.get(state)
    return None if wanted in verbs else wanted


def _states(nodes: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    states = [node["provision_state"] for node in nodes.values()]
    return {state: states.count(state) for state in sorted(set(states))}


def delays(folder: Path) -> list[float]:
    """Return the seconds from each heartbeat that let a node go on to the next command at its agent."""
    found = []
    for entries in history.read(folder).values():
        beat = None
        for entry in entries:
            if entry["what"] == "heartbeat" and entry["status"] == 202 and beat is None:
                beat = entry["at"]
            elif entry["what"] == "command begins" and beat is not None:
                found.append(entry["at"] - beat)
                beat = None
            elif entry["what"] in ("reset", "power"):
                beat = None
    return found


def _share(values: Sequence[float], percent: int) -> float:
    """Return what so many per cent of the sorted values do not exceed."""
    return values[len(values) * percent // 100]


def measure(make: Callable[[Path, Rack], Server], machines: int, boot: float) -> Sequence[str]:
    """Have a server do the work with a rack of its own; return what there is to tell, or raise GaveUpError."""
    times = (f"--boot-seconds={boot}", *MACHINES)
    with tempfile.TemporaryDirectory() as folder, running(Path(folder, "rack"), machines, *times) as rack:
        server = make(Path(folder, "server"), rack)
        try:
            with watched(server) as peak:
                idle, began = cpu(*server.pids()), time.monotonic()
                live(server, server.enroll())
                wall = time.monotonic() - began
            time.sleep(boot + POLL)  # for the images to come up, which the histories are asked for
            others = {"the simulator": cpu(rack.pid), "the web server": cpu(server.web.process.pid)}
        finally:
            server.stop()
        waits, requests = sorted(delays(rack.folder)), rack.load()["requests"]
        faults = history.check(rack.folder)
    beside = _shares(others, machines)
    parts = f" ({_shares(peak.parts, machines)})" if peak.parts else ""
    return (
        f"{machines} machines from enroll to active in {wall:.0f} s, load average {os.getloadavg()[1]:.1f}",
        f"{(peak.cpu - idle) / machines:.3f} CPU seconds for each{parts}; beside it {beside}",
        f"peak memory {peak.rss:.0f} MiB, {peak.pss:.0f} MiB with shared parts divided",
        f"{requests / machines:.0f} requests to the BMC of each",
        f"heartbeat to next command: median {statistics.median(waits):.2f} s, p99 {_share(waits, 99):.2f} s",
        f"{len(faults)} faults in the histories" if faults else "no faults in the histories",
        *faults[:FAULTS],
    )


def _shares(parts: Mapping[str, float], machines: int) -> str:
    return ", ".join(f"{name} {seconds / machines:.3f}" for name, seconds in parts.items())


def main(machines: int, settings: Sequence[str], *, boot: float = BOOT, beside: Sequence[str] = ()) -> None:
    """Measure one server after the other, and tell; end with status 1 if one of them gave up."""
    given = {"max_concurrent_deploy": str(machines)} | dict(word.split("=", 1) for word in settings)

    def ours(folder: Path, rack: Rack) -> Server:
        return Server(folder, rack, **given)

    complete = True
    for name, make in [("rackwright", ours), *((name, PEERS[name]) for name in beside)]:
        try:
            lines = measure(make, machines, boot)
        except GaveUpError as error:
            complete, lines = False, [str(error)]
        sys.stdout.write("\n  ".join([f"{name}:", *lines]) + "\n")
        sys.stdout.flush()
    raise SystemExit(not complete)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Take simulated machines from enroll to active.")
    parser.add_argument("machines", nargs="?", type=int, default=20)
    parser.add_argument("settings", nargs="*", metavar="NAME=VALUE", help="of our daemon")
    parser.add_argument("--beside", action="append", choices=PEERS, default=[], help="who does the same work then")
    parser.add_argument("--boot", type=float, default=BOOT, metavar="SECONDS", help="that a machine takes to boot")
    words = parser.parse_intermixed_args()
    main(words.machines, words.settings, boot=words.boot, beside=words.beside)

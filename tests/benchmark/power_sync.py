# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Look at the power of many simulated machines whose BMCs take 50 ms for each answer, and tell what a round takes.

Run it as ``python -m tests.benchmark.power_sync [bmcs]``, from the root of the tree. Linux only. The first round finds
out the ways and records each state; those after it find everything as it is recorded. The simulator runs beside, on the
same cores; its time is told apart.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.benchmark.processes import cpu
from tests.integration.server.daemon_house import until
from tests.integration.server.simulated_house import Fleet, Rack, running

ANSWER = 0.05
INTERVAL = 60
LIMIT = 1800.0
REST = 2.0
"""Seconds that the end of a round may take after its last answer."""


def _begin(database: Path) -> None:
    """Let the daemon know the nodes, and nothing of their power."""
    with sqlite3.connect(database, timeout=30) as connection:
        connection.execute("UPDATE node SET provision_state = 'manageable', power_state = NULL")


def _known(database: Path) -> int:
    with sqlite3.connect(database, timeout=30) as connection:
        return int(connection.execute("SELECT count(*) FROM node WHERE power_state IS NOT NULL").fetchone()[0])


def _runs(daemon: Fleet) -> int:
    """Return how many runs that look have begun."""
    return daemon.log.read_text().count("rackwright.metal.power_sync")


def _round(daemon: Fleet, rack: Rack, bmcs: int, over: Callable[[int], bool]) -> str:
    """Wait for a round, which is ``over`` by the number of requests, and return what it took."""
    runs = _runs(daemon)
    until(lambda: _runs(daemon) > runs, 2 * INTERVAL, "a round")
    asked = rack.load()["requests"]
    ours, theirs = cpu(daemon.process.pid), cpu(rack.pid)
    began = time.monotonic()
    until(lambda: over(rack.load()["requests"] - asked), LIMIT, "the end of the round")
    wall = time.monotonic() - began
    time.sleep(REST)
    each, simulator = (cpu(daemon.process.pid) - ours) / bmcs, (cpu(rack.pid) - theirs) / bmcs
    load = rack.load()
    return (
        f"{bmcs} BMCs of {ANSWER * 1000:.0f} ms in {wall:.1f} s, {1000 * each:.2f} CPU milliseconds for each (the "
        f"simulator {1000 * simulator:.2f}), {(load['requests'] - asked) / bmcs:.1f} requests to each, "
        f"{load['sessions']} sessions left open"
    )


def main(bmcs: int = 100) -> None:
    """Measure, and tell."""
    with tempfile.TemporaryDirectory() as folder, running(Path(folder, "rack"), bmcs) as rack:
        daemon = Fleet(Path(folder, "daemon"), rack, sync_power_state_interval=INTERVAL)
        database = daemon.state / "rackwright.sqlite"
        try:
            daemon.enroll()
            rack.faults({"fault": "slow-answer", "seconds": ANSWER})
            _begin(database)
            first = _round(daemon, rack, bmcs, lambda _: _known(database) == bmcs)
            again = _round(daemon, rack, bmcs, lambda requests: requests >= bmcs)
        finally:
            daemon.stop()
    sys.stdout.write(f"first round: {first}\nrounds after it: {again}\n")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:2]))

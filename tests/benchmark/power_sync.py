# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Look at the power of many simulated machines whose BMCs take 50 ms for each answer, and tell how long a round takes.

Run it as ``python -m tests.benchmark.power_sync [bmcs]``, from the root of the tree. Linux only. The simulator runs
beside, on the same cores; its time is told apart.
"""

from __future__ import annotations

import sqlite3
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmark.processes import cpu
from tests.integration.server.daemon_house import until
from tests.integration.server.simulated_house import Fleet, running

ANSWER = 0.05
INTERVAL = 60
LIMIT = 1800.0


def _begin(database: Path) -> None:
    """Let the daemon know the nodes, and nothing of their power."""
    with sqlite3.connect(database, timeout=30) as connection:
        connection.execute("UPDATE node SET provision_state = 'manageable', power_state = NULL")


def _known(database: Path) -> int:
    with sqlite3.connect(database, timeout=30) as connection:
        return int(connection.execute("SELECT count(*) FROM node WHERE power_state IS NOT NULL").fetchone()[0])


def main(bmcs: int = 100) -> None:
    """Measure, and tell."""
    with tempfile.TemporaryDirectory() as folder, running(Path(folder, "rack"), bmcs) as rack:
        daemon = Fleet(Path(folder, "daemon"), rack, sync_power_state_interval=INTERVAL)
        database = daemon.state / "rackwright.sqlite"
        try:
            daemon.enroll()
            rack.faults({"fault": "slow-answer", "seconds": ANSWER})
            before, simulated, asked = cpu(daemon.process.pid), cpu(rack.pid), rack.load()["requests"]
            _begin(database)
            until(lambda: "power_sync" in daemon.log.read_text(), 2 * INTERVAL, "a round")
            began = time.monotonic()
            until(lambda: _known(database) == bmcs, LIMIT, "the end of the round")
            wall = time.monotonic() - began
            load = rack.load()
            ours, simulator = cpu(daemon.process.pid) - before, cpu(rack.pid) - simulated
        finally:
            daemon.stop()
    lines = (
        f"{bmcs} BMCs of {ANSWER * 1000:.0f} ms looked at in {wall:.1f} s, {bmcs / wall:.0f} in a second",
        f"{ours / bmcs * 1000:.1f} CPU milliseconds for each, the simulator {simulator / bmcs * 1000:.1f}",
        f"{(load['requests'] - asked) / bmcs:.1f} requests to each, {load['sessions']} sessions left open",
    )
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:2]))

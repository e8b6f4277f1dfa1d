# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Measure what one playbook run costs, with and without the fork server, and where its wall time goes.

Run it as ``python -m tests.benchmark.run_cost [runs]``, from the root of the tree. Linux only. The run is the phase
verify of two nodes of fake hardware, two steps. CPU time is that of every process that takes part.
"""

from __future__ import annotations

import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rackwright.catalog.locate import locate_ours
from rackwright.engine.door import Door
from rackwright.runner.ansible import AnsibleRunner
from rackwright.runner.base import PlaybookRun, RunStatus

NODES = ("11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222")
STEPS = tuple(
    {"name": name, "interface": interface, "role": "rackwright.metal.fake", "tasks": "act", "index": index}
    for index, (name, interface) in enumerate((("read_power_state", "power"), ("read_management", "management")))
)
TICKS = os.sysconf("SC_CLK_TCK")


class Watch:
    """Listens to a run and notes when it speaks."""

    def __init__(self) -> None:
        self.begin = time.monotonic()
        self.times: dict[str, float] = {}

    def lines(self, said: Sequence[Mapping[str, Any]]) -> None:
        """Note the first and the last line."""
        del said
        self.times.setdefault("first line", time.monotonic() - self.begin)
        self.times["last line"] = time.monotonic() - self.begin

    def reached(self, mark: str) -> None:
        """Take a mark; it tells nothing here."""

    def cancelled(self) -> bool:
        """Never end the run."""
        return False


def answer(run: str, index: int | None, mark: str | None) -> dict[str, Any]:
    """Tell a run of its nodes, as the conductor would."""
    del mark
    more = {} if index is None else {"step": {**STEPS[index], "args": {}}, "facts": {}, "run": run}
    return {uuid: {"node": {"uuid": uuid, "driver_info": {}, "power_state": None}, **more} for uuid in NODES}


def cpu_seconds() -> float:
    """Return the CPU time of this process, of all that it has waited for, and of those that its children forked."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used) + sum(_living())


def _living() -> list[float]:
    """Return the CPU times of our living children, each with those that it has waited for."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            found.append(sum(int(field) for field in fields[11:15]) / TICKS)
    return found


def measure(folder: Path, idle: int, runs: int) -> None:
    """Run the playbook some times and print what each run cost."""
    folder.mkdir()
    door = Door(folder / "door.sock", answer)
    door.open()
    runner = AnsibleRunner(
        runs=folder / "runs",
        home=folder / "ansible",
        roots=(locate_ours().root,),
        timeout=60,
        fork_server_idle=idle,
    )
    costs: list[tuple[float, ...]] = []
    for number in range(runs + 1):
        cpu, watch = cpu_seconds(), Watch()
        run = PlaybookRun(f"run-{number}", "rackwright.metal.verify", NODES, STEPS, True, folder / "door.sock")
        if (result := runner.run(run, watch)).status is not RunStatus.FINISHED:
            raise SystemExit(str(result))
        wall = time.monotonic() - watch.begin
        costs.append((cpu_seconds() - cpu, watch.times["first line"], watch.times["last line"], wall))
    runner.close()
    door.shutdown()
    door.server_close()
    for name, rows in (("first run", costs[:1]), (f"median of {runs} more", costs[1:])):
        cpu, first, last, wall = (statistics.median(column) for column in zip(*rows, strict=True))
        sys.stdout.write(
            f"fork_server_idle {idle:2}, {name}: {cpu:.3f} s CPU; first line after {first:.3f} s, "
            f"last line after {last:.3f} s, end after {wall:.3f} s\n"
        )


def main(runs: int = 10) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for idle in (0, 60):
            measure(Path(folder) / str(idle), idle, runs)


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:2]))

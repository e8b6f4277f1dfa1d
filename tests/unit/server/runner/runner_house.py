# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A runner with a door that knows two fake nodes, and somebody who listens to its runs."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rackwright.catalog.locate import locate_ours
from rackwright.engine.door import Door
from rackwright.runner.ansible import AnsibleRunner
from rackwright.runner.base import PlaybookRun, Runner, RunResult

NODES = ("11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222")
STEPS = (
    {"name": "read_power_state", "interface": "power", "role": "rackwright.metal.fake", "tasks": "act", "index": 0},
    {"name": "read_management", "interface": "management", "role": "rackwright.metal.fake", "tasks": "act", "index": 1},
)


class Ear:
    """Listens to a run."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self.marks: list[str] = []
        self.ending = threading.Event()
        self.trouble: Exception | None = None
        self.seconds = 0.0  # that it takes to store a line

    def lines(self, said: Sequence[Mapping[str, Any]]) -> None:
        time.sleep(self.seconds * len(said))
        if self.trouble is not None:
            raise self.trouble
        self.told += [dict(data) for data in said]

    def reached(self, mark: str) -> None:
        self.marks.append(mark)

    def cancelled(self) -> bool:
        return self.ending.is_set()


def runner(folder: Path, fork_server_idle: int) -> AnsibleRunner:
    return AnsibleRunner(
        runs=folder / "runs",
        home=folder / "ansible",
        roots=(locate_ours().root,),
        timeout=60,
        fork_server_idle=fork_server_idle,
    )


def wanted(folder: Path, **changes: Any) -> PlaybookRun:
    given = {"run_id": "run-1", "playbook": "rackwright.metal.verify", "nodes": NODES, "steps": STEPS}
    return PlaybookRun(**{**given, "batched": True, "door": folder / "door.sock", **changes})


def until(true: Callable[[], Any], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.02)


class Process(NamedTuple):
    """A process of the machine."""

    pid: int
    parent: int
    words: str


class Site:
    """A runner with a door that knows two fake nodes."""

    def __init__(self, folder: Path, *, fork_server_idle: int = 0) -> None:
        self.folder, self.fork_server_idle = folder, fork_server_idle
        self.driver_info: dict[str, Any] = {}
        self.nodes: Sequence[str] = NODES
        self.asked: list[tuple[int | None, str | None]] = []
        self.door = Door(folder / "door.sock", self._answer)
        self.door.open()
        self.runner = runner(folder, fork_server_idle)
        self.player: Runner = self.runner

    def _answer(self, run: str, index: int | None, mark: str | None) -> dict[str, Any]:
        self.asked.append((index, mark))
        node = {"driver_info": self.driver_info, "power_state": None}
        if index is None:
            return {uuid: {"node": {"uuid": uuid, **node}} for uuid in self.nodes}
        step = {"name": STEPS[index]["name"], "interface": STEPS[index]["interface"], "index": index, "args": {}}
        return {uuid: {"node": {"uuid": uuid, **node}, "step": step, "facts": {}, "run": run} for uuid in self.nodes}

    def run(self, ear: Ear, run_id: str = "run-1", **changes: Any) -> RunResult:
        """Run a playbook to its end."""
        return self.player.run(wanted(self.folder, run_id=run_id, **changes), ear)

    def start(self, ear: Ear, run_id: str = "run-1", **changes: Any) -> Started:
        """Start a run that goes on until it is ended, and return when it is at its first step."""
        self.driver_info["fake_delay"] = "30"
        started = Started(self, ear, run_id, **changes)
        until(lambda: ear.told)
        return started

    def processes(self) -> set[Process]:
        """Return the processes that have to do with this site's runs, without our own."""
        found = set()
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_bytes()
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                if str(self.folder).encode() in words + (folder / "environ").read_bytes():
                    found.add(Process(int(folder.name), parent, words.decode()))
            except OSError:
                continue
        return {process for process in found if process.pid != os.getpid()}

    def temporary(self) -> list[Path]:
        """Return what runs keep for as long as they last."""
        return list((self.folder / "ansible" / "tmp").iterdir())

    def servers(self) -> set[Process]:
        """Return the fork server, if there is one."""
        return {each for each in self.processes() if each.parent == os.getpid() and "_fork_server" in each.words}

    def of_runs(self) -> set[Process]:
        """Return the processes that must go with their runs."""
        return self.processes() - self.servers()

    def close(self) -> None:
        """End what it has."""
        self.runner.close()
        self.door.shutdown()
        self.door.server_close()


class Started(threading.Thread):
    """A run that goes on."""

    def __init__(self, site: Site, ear: Ear, run_id: str, **changes: Any) -> None:
        super().__init__()
        self._site, self._ear, self._run_id, self._changes = site, ear, run_id, changes
        self._result: RunResult | None = None
        self.start()

    def run(self) -> None:
        self._result = self._site.run(self._ear, self._run_id, **self._changes)

    def result(self) -> RunResult:
        """Return how it ended, which it must do soon."""
        self.join(10)
        assert self._result is not None, "the run goes on"
        return self._result

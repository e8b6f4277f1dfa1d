# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The real runner with real playbooks: what is told, what stays, who dies with whom."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rackwright.catalog.locate import locate_ours
from rackwright.engine.door import Door
from rackwright.runner.ansible import AnsibleRunner, RunnerUnusable, scrub_environment
from rackwright.runner.base import PlaybookRun, RunStatus

NODES = ("11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222")
STEPS = (
    {"name": "read_power_state", "interface": "power", "role": "rackwright.metal.fake", "tasks": "act", "index": 0},
    {"name": "read_management", "interface": "management", "role": "rackwright.metal.fake", "tasks": "act", "index": 1},
)


class Ear:
    """Listens to a run."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = []
        self.marks: list[str] = []
        self.ending = threading.Event()
        self.broken = False

    def line(self, data: Mapping[str, Any]) -> None:
        if self.broken:
            raise OSError("the disk is full")
        self.lines.append(dict(data))

    def reached(self, mark: str) -> None:
        self.marks.append(mark)

    def cancelled(self) -> bool:
        return self.ending.is_set()


class Site:
    """A runner with a door that knows two fake nodes."""

    def __init__(self, folder: Path, **driver_info: Any) -> None:
        self.folder = folder
        self.driver_info = driver_info
        self.asked: list[tuple[int | None, str | None]] = []
        self.door = Door(folder / "door.sock", self._answer)
        self.door.open()
        root = locate_ours().root
        self.runner = AnsibleRunner(runs=folder / "runs", home=folder / "ansible", roots=(root,), timeout=60)

    def _answer(self, run: str, index: int | None, mark: str | None) -> dict[str, Any]:
        self.asked.append((index, mark))
        node = {"driver_info": self.driver_info, "power_state": None}
        if index is None:
            return {uuid: {"node": {"uuid": uuid, **node}} for uuid in NODES}
        step = {"name": STEPS[index]["name"], "interface": STEPS[index]["interface"], "index": index, "args": {}}
        return {uuid: {"node": {"uuid": uuid, **node}, "step": step, "facts": {}, "run": run} for uuid in NODES}

    def run(self, ear: Ear, run_id: str = "run-1", **changes: Any) -> Any:
        given = {"run_id": run_id, "playbook": "rackwright.metal.verify", "nodes": NODES, "steps": STEPS}
        return self.runner.run(
            PlaybookRun(**{**given, "batched": True, "door": self.folder / "door.sock", **changes}), ear
        )

    def processes(self) -> list[int]:
        """Return the processes that have to do with this site's runs."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if str(self.folder).encode() in path.read_bytes():
                    found.append(int(path.parent.name))
            except OSError:
                continue
        return [pid for pid in found if pid != os.getpid()]

    def close(self) -> None:
        self.door.shutdown()
        self.door.server_close()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    built = Site(tmp_path)
    yield built
    built.close()


def _until(true: Any, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.02)


def test_a_run_tells_every_nodes_progress_in_order_and_leaves_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RACKWRIGHT_DATABASE_URL", "postgresql://canary")
    monkeypatch.setenv("ANSIBLE_STRATEGY", "nonsense")
    scrub_environment()
    ear = Ear()
    result = site.run(ear)
    assert (result.status, result.failed, result.cause) == (RunStatus.FINISHED, {}, "")
    for uuid in NODES:
        events = [(line["step"], line["event"]) for line in ear.lines if line["node"] == uuid]
        assert [event for event in events if event[1] == "start"] == [(0, "start"), (1, "start")]
    assert ear.marks == [mark for index, mark in site.asked if index is not None], "each question had its mark"
    assert list((site.folder / "runs").iterdir()) == []


def test_a_failed_node_is_told_and_the_run_goes_on(site: Site) -> None:
    site.driver_info["fake_fail"] = "read_management"
    ear = Ear()
    assert site.run(ear).status is RunStatus.FINISHED
    failed = [line for line in ear.lines if line["event"] == "failed"]
    assert {line["node"] for line in failed} == set(NODES)
    assert all(line["step"] == 1 and line["cause"] and line["action"] for line in failed)


def test_a_run_that_is_cancelled_ends_with_everything_it_started(site: Site) -> None:
    site.driver_info["fake_delay"] = "30"
    ear = Ear()
    done: list[Any] = []
    thread = threading.Thread(target=lambda: done.append(site.run(ear)))
    thread.start()
    _until(lambda: ear.lines)
    ear.ending.set()
    thread.join(10)
    assert [each.status for each in done] == [RunStatus.CANCELLED]
    _until(lambda: not site.processes(), 5)


def test_a_run_that_is_killed_says_so_and_its_folder_stays(site: Site) -> None:
    site.driver_info["fake_delay"] = "30"
    ear = Ear()
    done: list[Any] = []
    thread = threading.Thread(target=lambda: done.append(site.run(ear)))
    thread.start()
    _until(lambda: ear.lines)
    os.kill(min(site.processes()), signal.SIGKILL)
    thread.join(10)
    assert [each.status for each in done] == [RunStatus.DIED]
    assert [path.name for path in (site.folder / "runs").iterdir()] == ["run-1"]
    _until(lambda: not site.processes(), 5)


def test_a_playbook_that_breaks_tells_its_reason(site: Site) -> None:
    result = site.run(Ear(), playbook="rackwright.metal.no_such_playbook")
    assert result.status is RunStatus.DIED
    assert "no_such_playbook" in result.cause


def test_lines_that_cannot_be_stored_end_as_a_death_of_the_run(site: Site) -> None:
    ear = Ear()
    ear.broken = True
    result = site.run(ear)
    assert (result.status, "disk is full" in result.cause) == (RunStatus.DIED, True)


def test_a_run_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    site = Site(tmp_path, fake_delay="30")
    script = (
        "import sys; from pathlib import Path\n"
        "from tests.unit.server.runner.test_ansible import *\n"
        "folder = Path(sys.argv[1]); root = locate_ours().root\n"
        "runner = AnsibleRunner(runs=folder / 'runs', home=folder / 'ansible', roots=(root,), timeout=60)\n"
        "runner.run(PlaybookRun('run-1', 'rackwright.metal.verify', NODES, STEPS, True, folder / 'door.sock'), Ear())\n"
    )
    starter = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], cwd=Path(__file__).parents[4])
    _until(lambda: any(index == 0 for index, _ in site.asked))
    starter.kill()
    starter.wait()
    _until(lambda: not site.processes(), 5)
    site.close()


def test_nothing_that_a_run_writes_is_readable_by_others(site: Site) -> None:
    ear = Ear()
    ear.broken = True
    site.run(ear)
    assert (site.folder / "runs" / "run-1").stat().st_mode & 0o077 == 0


def test_a_missing_ansible_is_told_at_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(RunnerUnusable, match="ansible-core"):
        AnsibleRunner(runs=tmp_path / "runs", home=tmp_path / "home", roots=(), timeout=0)

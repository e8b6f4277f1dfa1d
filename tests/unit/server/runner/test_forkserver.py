# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs forked from a loaded Ansible: the same as plain ones, apart from each other, and gone with their maker."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ansible_runner
import pytest

from rackwright.runner.base import RunStatus
from rackwright.runner.forkserver import ForkServer
from tests.unit.server.runner.runner_house import NODES, Ear, Site, until

Events = list[dict[str, Any]]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    built = Site(tmp_path, fork_server_idle=60)
    yield built
    built.close()


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> Events:
    """Return the list to which ansible-runner adds every event of every run."""
    told: Events = []
    spy = SimpleNamespace(
        event_handler=lambda _config, event: told.append(dict(event)), status_handler=lambda _config, _status: None
    )
    monkeypatch.setitem(ansible_runner.plugins, "spy", spy)
    return told


def test_a_forked_run_tells_what_a_plain_one_tells(tmp_path: Path, events: Events) -> None:
    stories = []
    for idle in (0, 60):
        (tmp_path / str(idle)).mkdir()
        site = Site(tmp_path / str(idle), fork_server_idle=idle)
        site.nodes = NODES[:1]  # two would report in any order
        site.run(Ear())
        site.close()
        stories.append([_essence(event, site.folder) for event in events])
        events.clear()
    plain, forked = stories
    assert plain == forked
    assert {"playbook_on_start", "runner_on_ok", "verbose", "playbook_on_stats"} <= {name for name, *_ in plain}


def _essence(event: dict[str, Any], folder: Path) -> tuple[Any, ...]:
    data = event.get("event_data") or {}
    text = re.sub("@mark .*", "@mark", event["stdout"].replace(str(folder), ""))
    return event["event"], data.get("play"), data.get("task"), data.get("host"), data.get("res"), text


def test_runs_share_the_server_but_neither_folder_nor_identifiers(site: Site, events: Events) -> None:
    ears = Ear(), Ear()
    runs = [site.start(ear, f"run-{number}") for number, ear in enumerate(ears)]
    assert len(site.servers()) == 1
    assert len(list((site.folder / "ansible" / "tmp").iterdir())) == 2
    for ear, run in zip(ears, runs, strict=True):
        ear.ending.set()
        assert run.result().status is RunStatus.CANCELLED
    tasks = [(event["runner_ident"], event["event_data"].get("task_uuid")) for event in events if "event_data" in event]
    mine, theirs = ({task for run, task in tasks if run == name and task} for name in ("run-0", "run-1"))
    assert mine and theirs and not mine & theirs


def test_a_run_leaves_no_temporary_folder_and_no_word_in_the_log(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    site.run(Ear())
    assert site.temporary() == []
    assert capfd.readouterr() == ("", "")


def test_a_run_whose_server_is_killed_has_died_and_the_next_one_has_a_new_server(site: Site) -> None:
    run = site.start(Ear())
    (server,) = site.servers()
    os.kill(server.pid, signal.SIGKILL)
    result = run.result()
    assert (result.status, "was killed" in result.cause) == (RunStatus.DIED, True)
    until(lambda: not site.of_runs(), 5)
    site.driver_info.clear()
    assert site.run(Ear(), "run-2").status is RunStatus.FINISHED
    assert server not in site.servers() and len(site.servers()) == 1
    assert site.temporary() == []


def test_a_run_whose_playbook_is_killed_has_died_and_the_server_lives(site: Site) -> None:
    run = site.start(Ear())
    (server,) = site.servers()
    (playbook,) = (each for each in site.processes() if each.parent == server.pid)
    os.kill(playbook.pid, signal.SIGKILL)
    result = run.result()
    assert (result.status, "was killed" in result.cause) == (RunStatus.DIED, True)
    until(lambda: not site.of_runs(), 5)
    until(lambda: not site.temporary(), 5)
    assert site.servers() == {server}


def test_a_server_without_runs_ends_and_the_next_run_has_a_new_one(tmp_path: Path) -> None:
    site = Site(tmp_path, fork_server_idle=1)
    assert site.run(Ear()).status is RunStatus.FINISHED
    before = site.servers()
    until(lambda: not site.servers(), 10)
    assert site.run(Ear(), "run-2").status is RunStatus.FINISHED
    assert before and not before & site.servers()
    site.close()


def test_a_server_that_cannot_start_is_told_once_and_runs_go_on_without(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server, program = ForkServer(tmp_path, tmp_path / "fork.sock", idle=60), Path("/bin/echo")
    words = server.command(program, os.environ)
    assert words[-1] == str(program) and len(words) > 1
    assert subprocess.run([*words, "hello"], capture_output=True, check=True).stdout == b"hello\n"
    until(lambda: server.command(program, os.environ) == [str(program)], 5)
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    server.close()


def test_a_place_where_no_socket_can_be_is_told_and_runs_go_on_without(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = ForkServer(tmp_path, tmp_path / "missing" / "fork.sock", idle=60)
    assert server.command(Path("/bin/echo"), os.environ) == ["/bin/echo"]
    assert "cannot be started" in caplog.text
    server.close()


def test_nobody_else_can_reach_the_server(site: Site) -> None:
    site.run(Ear())
    assert (site.folder / "ansible" / "fork.sock").stat().st_mode & 0o077 == 0

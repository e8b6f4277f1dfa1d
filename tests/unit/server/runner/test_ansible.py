# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The real runner with real playbooks, plain and forked: what is told, what stays, who dies with whom."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rackwright.domain.errors import Unavailable
from rackwright.runner.ansible import RunnerUnusable, scrub_environment
from rackwright.runner.base import RunStatus
from tests.unit.server.runner.runner_house import NODES, Ear, Site, runner, until

CANARY = "canary-of-the-environment"


@pytest.fixture(params=[0, 60], ids=["plain", "forked"])
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    built = Site(tmp_path, fork_server_idle=request.param)
    yield built
    built.close()


def test_a_run_tells_every_nodes_progress_in_order_and_leaves_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "environ", os.environ | {"ANSIBLE_STRATEGY": "nonsense"})
    scrub_environment()
    ear = Ear()
    result = site.run(ear)
    assert (result.status, result.failed, result.cause) == (RunStatus.FINISHED, {}, "")
    for uuid in NODES:
        events = [(line["step"], line["event"]) for line in ear.told if line["node"] == uuid]
        assert [event for event in events if event[1] == "start"] == [(0, "start"), (1, "start")]
    assert ear.marks == [mark for index, mark in site.asked if index is not None], "each question had its mark"
    assert list((site.folder / "runs").iterdir()) == []


def test_a_failed_node_is_told_and_the_run_goes_on(site: Site) -> None:
    site.driver_info["fake_fail"] = "read_management"
    ear = Ear()
    assert site.run(ear).status is RunStatus.FINISHED
    failed = [line for line in ear.told if line["event"] == "failed"]
    assert {line["node"] for line in failed} == set(NODES)
    assert all(line["step"] == 1 and line["cause"] and line["action"] for line in failed)


def test_a_run_that_is_cancelled_ends_with_everything_it_started(site: Site) -> None:
    ear = Ear()
    run = site.start(ear)
    ear.ending.set()
    assert run.result().status is RunStatus.CANCELLED
    until(lambda: not site.of_runs(), 5)


def test_a_run_that_is_killed_says_so_and_its_folder_stays(site: Site) -> None:
    run = site.start(Ear())
    (program,) = (each for each in site.of_runs() if each.parent == os.getpid())
    os.kill(program.pid, signal.SIGKILL)
    assert run.result().status is RunStatus.DIED
    assert [path.name for path in (site.folder / "runs").iterdir()] == ["run-1"]
    until(lambda: not site.of_runs(), 5)


def test_what_is_secret_in_the_environment_of_the_daemon_reaches_no_file_and_no_playbook(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    secrets = dict.fromkeys(("OS_PASSWORD", "RACKWRIGHT_DATABASE_URL"), CANARY)
    proxy = f"http://user:{CANARY}-of-the-proxy@192.0.2.1"
    monkeypatch.setattr(os, "environ", os.environ | secrets | {"https_proxy": proxy})
    scrub_environment()
    run = site.start(Ear())
    environments = [_read(Path(f"/proc/{each.pid}/environ")) for each in site.of_runs()]
    assert any(b"https_proxy" in each for each in environments), "playbooks need the way out"
    assert not any(f"={CANARY}".encode() in each for each in environments)
    assert _files_with(CANARY, site.folder) == []
    (program,) = (each for each in site.of_runs() if each.parent == os.getpid())
    os.kill(program.pid, signal.SIGKILL)
    assert run.result().status is RunStatus.DIED
    assert list((site.folder / "runs").iterdir()), "its folder stays"
    assert _files_with(CANARY, site.folder) == []


def test_operators_name_what_their_playbooks_read_and_get_nothing_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"VAULT_ADDR": "a", "VAULT_TOKEN": "b", "ANSIBLE_STRATEGY": "free", "RACKWRIGHT_NOVA_PASSWORD": CANARY}
    monkeypatch.setattr(os, "environ", {"PATH": "/bin", **given})
    scrub_environment(["VAULT_ADDR"])
    assert os.environ == {"PATH": "/bin", "VAULT_ADDR": "a"}


def test_what_was_written_of_an_environment_goes_when_the_daemon_starts(tmp_path: Path) -> None:
    left = tmp_path / "runs" / "run-1" / "artifacts" / "run-1" / "command"
    left.parent.mkdir(parents=True)
    left.write_text(CANARY)
    runner(tmp_path, 0)
    assert left.parent.exists() and not left.exists()


def _files_with(text: str, folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text.encode() in _read(path)]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # what belongs to a run comes and goes
        return b""


def test_a_playbook_that_breaks_tells_its_reason(site: Site) -> None:
    result = site.run(Ear(), playbook="rackwright.metal.no_such_playbook")
    assert result.status is RunStatus.DIED
    assert "no_such_playbook" in result.cause


@pytest.mark.parametrize("trouble", [OSError("the disk is full"), Unavailable("The database does not answer.")])
def test_lines_that_cannot_be_stored_end_as_a_death_of_the_run(
    site: Site, trouble: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    ear = Ear()
    ear.trouble = trouble
    result = site.run(ear)
    assert (result.status, str(trouble) in result.cause) == (RunStatus.DIED, True)
    told = [record.exc_info is not None for record in caplog.records if str(trouble) in record.getMessage()]
    assert set(told) == {isinstance(trouble, OSError)}, "what we have words for needs no traceback"


def test_a_run_whose_lines_take_long_to_store_ends_well_and_with_all_of_them(tmp_path: Path) -> None:
    site, ear = Site(tmp_path), Ear()
    ear.seconds = 2.0  # of 4 lines at least: ansible-runner waits for 5 seconds at the end
    try:
        assert site.run(ear).status is RunStatus.FINISHED
    finally:
        site.close()
    starts = [line for line in ear.told if line["event"] == "start"]
    assert len(starts) == len(NODES) * 2


def test_a_run_dies_with_the_process_that_started_it(site: Site) -> None:
    site.driver_info["fake_delay"] = "30"
    script = (
        "import sys; from pathlib import Path\n"
        "from tests.unit.server.runner.runner_house import Ear, runner, wanted\n"
        "runner(Path(sys.argv[1]), int(sys.argv[2])).run(wanted(Path(sys.argv[1])), Ear())\n"
    )
    words = [sys.executable, "-c", script, str(site.folder), str(site.fork_server_idle)]
    starter = subprocess.Popen(words, cwd=Path(__file__).parents[4])
    until(lambda: any(index == 0 for index, _ in site.asked))
    starter.kill()
    starter.wait()
    until(lambda: not site.processes(), 5)


def test_nothing_that_a_run_writes_is_readable_by_others(site: Site) -> None:
    ear = Ear()
    ear.trouble = OSError("the disk is full")
    site.run(ear)
    assert (site.folder / "runs" / "run-1").stat().st_mode & 0o077 == 0


def test_a_missing_ansible_is_told_at_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(RunnerUnusable, match="ansible-core"):
        runner(tmp_path, 0)

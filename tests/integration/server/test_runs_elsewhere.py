# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Runs on another host, which is reached through a real server of OpenSSH."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from rackwright.runner.base import RunStatus
from rackwright.runner.remote import Elsewhere, Ssh
from tests.integration.server.daemon_house import Daemon, files_below, until
from tests.integration.server.ssh_house import COMMAND, HOST, NOBODY, SECRET, Sshd
from tests.unit.server.runner.runner_house import Ear, Site, Started

pytestmark = pytest.mark.slow

PATIENCE = 4


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    server = Sshd(tmp_path_factory.mktemp("sshd"))
    yield server
    server.stop()


@pytest.fixture
def daemon(sshd: Sshd, tmp_path: Path) -> Iterator[Daemon]:
    started = Daemon(
        tmp_path,
        execution_hosts=json.dumps({"far": HOST, "wrong": NOBODY}),
        execution_ssh_config=sshd.config,
        execution_command=COMMAND,
        execution_patience=PATIENCE,
    )
    yield started
    assert started.stop() == 0


def test_nodes_live_with_runs_elsewhere_and_leave_no_secret_and_no_trace(daemon: Daemon, sshd: Sshd) -> None:
    canary = "canary-of-the-bmc"
    there = {"execution_host": "far"}
    far = daemon.create(2, properties=there, driver_info={"redfish_password": canary, "fake_delay": "1"})
    near = daemon.create(1)
    daemon.verb([*far, *near], "manage")
    seen, words = list[bool](), set[str]()
    while not daemon.reached([*far, *near], "manageable"):
        words |= set(sshd.workers().values())
        seen += [canary.encode() in text for text in _texts(daemon, sshd)]
        seen += [SECRET.encode() in text for text in _files(daemon, sshd)]
    assert seen and not any(seen), "secrets travel inside the connection alone"
    assert any("ansible-playbook" in each and "rackwright.metal.verify" in each for each in words)
    daemon.bring(far, "provide", "available")
    daemon.bring(far, "active", "active")
    until(lambda: not sshd.workers() and not sshd.folders(), 10, "the end of all that runs have left there")
    assert not any(socket.exists() for socket in _sockets(daemon))
    assert not list((daemon.state / "runs").iterdir())


def test_a_run_whose_connection_breaks_is_repeated_and_never_doubled(daemon: Daemon, sshd: Sshd) -> None:
    uuids = daemon.create(1, properties={"execution_host": "far"}, driver_info={"fake_delay": "2"})
    daemon.verb(uuids, "manage")
    until(lambda: _playbooks(sshd), 40, "a playbook elsewhere")
    first = set(sshd.workers())
    sshd.cut()
    most, again = 0, set[int]()
    while not daemon.reached(uuids, "manageable"):
        at_work = set(sshd.workers())
        again |= at_work - first
        assert not (first & at_work and again), "the first worker is gone before the next begins"
        most = max(most, len(sshd.folders()))
    assert again and most == 1
    assert "A run died" in daemon.log.read_text()


def test_nodes_wait_for_a_host_that_is_away_and_say_what_to_do(daemon: Daemon, sshd: Sshd) -> None:
    (lost,) = daemon.create(1, properties={"execution_host": "wrong"})
    uuids = daemon.create(2, properties={"execution_host": "far"})
    sshd.stop()
    try:
        daemon.verb([*uuids, lost], "manage")
        until(lambda: "why" in _operation(daemon, uuids[0]), 20, "a reason")
        time.sleep(8)  # longer than eight attempts took
        seen = daemon.nodes()
        assert {(node["provision_state"], node["last_error"]) for node in seen.values()} == {("verifying", None)}
        trial = f"'ssh -F {sshd.config} {HOST} {COMMAND} --help' works"
        for uuid in uuids:
            why = daemon.done("GET", f"/rackwright/v1/nodes/{uuid}/timeline")["now"]["why"]
            assert f"Execution host {HOST} cannot be reached" in why and trial in why
        log = daemon.log.read_text()
        assert log.count("A run starts") < 12
        assert log.count("A run was hindered") == log.count("cannot be reached"), "each attempt is told once"
    finally:
        sshd.start()
    until(lambda: daemon.reached(uuids, "manageable"), 60, "the end of the wait")
    assert _operation(daemon, lost)["why"].startswith(f"Execution host {NOBODY} cannot be reached")


def _operation(daemon: Daemon, uuid: str) -> dict[str, str]:
    found = daemon.done("GET", f"/v1/nodes/{uuid}")["driver_internal_info"]
    return dict(found.get("operation", {}))


@pytest.mark.parametrize("hosts", [{}, {"far": HOST}])
def test_a_host_that_nobody_has_named_is_an_error_of_the_node(tmp_path: Path, hosts: dict[str, str]) -> None:
    daemon = Daemon(tmp_path, execution_hosts=json.dumps(hosts))
    (unknown,) = daemon.create(1, properties={"execution_host": "far-away"})
    daemon.verb([unknown], "manage")
    error = until(lambda: daemon.nodes()[unknown]["last_error"], 20, "an error")
    assert daemon.stop() == 0
    assert "execution_hosts does not name 'far-away'" in error


def _texts(daemon: Daemon, sshd: Sshd) -> Iterator[bytes]:
    """Yield files, arguments and environments of both hosts."""
    for pid in (*daemon.left(), *sshd.workers()):
        yield from (_read(Path(f"/proc/{pid}/{name}")) for name in ("cmdline", "environ"))
    yield from _files(daemon, sshd)


def _files(daemon: Daemon, sshd: Sshd) -> Iterator[bytes]:
    for folder in (daemon.state, sshd.runtime):
        yield from (_read(path) for path in files_below(folder))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # files and processes of a run come and go
        return b""


def _playbooks(sshd: Sshd) -> list[int]:
    return [pid for pid, words in sshd.workers().items() if "ansible-playbook" in words]


def _sockets(daemon: Daemon) -> list[Path]:
    runs = re.findall(r"A run starts run='([^']+)'", daemon.log.read_text())
    assert runs
    return [Path(f"/tmp/rackwright-{run}.sock") for run in runs]


@pytest.fixture
def site(sshd: Sshd, tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    made.player = _elsewhere(made, sshd, COMMAND)
    yield made
    made.close()


def _elsewhere(site: Site, sshd: Sshd, command: str, *places: str, timeout: int = 60) -> Elsewhere:
    ssh = Ssh(command, sshd.config, PATIENCE)
    return Elsewhere(site.runner, hosts={"far": places or (HOST,)}, runs=site.folder / "runs", ssh=ssh, timeout=timeout)


def _start(site: Site, sshd: Sshd) -> tuple[Ear, Started]:
    """Start a run that goes on until it is ended, and return when it is at its first step."""
    ear = Ear()
    started = site.start(ear, str(uuid.uuid4()), host="far")
    assert sshd.workers()
    return ear, started


def _outer_and_inner(sshd: Sshd) -> list[int]:
    found = sshd.workers().items()
    return [pid for pid, words in found if " -m rackwright.cli worker" in words and not words.startswith("sh ")]


def _gone(sshd: Sshd, seconds: float) -> None:
    until(lambda: not sshd.workers() and not sshd.folders(), seconds, "the end of the worker and its folder")


def test_a_run_that_is_cancelled_leaves_nothing_there(site: Site, sshd: Sshd) -> None:
    ear, started = _start(site, sshd)
    ear.ending.set()
    assert started.result().status is RunStatus.CANCELLED
    _gone(sshd, 1)


@pytest.mark.parametrize("name", ["outer", "inner", "all"])
def test_a_worker_that_is_killed_leaves_nothing_there(site: Site, sshd: Sshd, name: str) -> None:
    _, started = _start(site, sshd)
    outer, inner = sorted(_outer_and_inner(sshd))
    for pid in {"outer": [outer], "inner": [inner], "all": [outer, inner]}[name]:
        os.kill(pid, signal.SIGKILL)
    assert started.result().status is RunStatus.DIED
    until(lambda: not _playbooks(sshd), 10, "the end of the playbook")
    if name == "all":  # nobody was left to remove the folder: the next worker does
        site.driver_info.clear()
        assert site.run(Ear(), str(uuid.uuid4()), host="far").status is RunStatus.FINISHED
    _gone(sshd, 5)


def test_a_worker_ends_when_it_hears_nothing(site: Site, sshd: Sshd) -> None:
    _, started = _start(site, sshd)
    (client,) = (each.pid for each in site.processes() if each.words.startswith("ssh"))
    os.kill(client, signal.SIGSTOP)
    try:
        _gone(sshd, PATIENCE + 2)
    finally:
        os.kill(client, signal.SIGKILL)
    assert started.result().status is RunStatus.DIED


def test_a_run_that_takes_too_long_is_ended(site: Site, sshd: Sshd) -> None:
    site.player = _elsewhere(site, sshd, COMMAND, timeout=2)
    site.driver_info["fake_delay"] = "30"
    result = site.run(Ear(), str(uuid.uuid4()), host="far")
    assert result.status is RunStatus.DIED
    assert "run_timeout, 2 seconds" in result.cause
    _gone(sshd, 1)


def test_a_host_that_cannot_be_reached_is_passed_over(site: Site, sshd: Sshd) -> None:
    site.player = _elsewhere(site, sshd, COMMAND, NOBODY, HOST)
    ear = Ear()
    assert site.run(ear, str(uuid.uuid4()), host="far").status is RunStatus.FINISHED
    assert ear.told


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("no-such-rackwright worker", "no-such-rackwright"),
        ('echo \'{"rackwright": "0.0.9", "door": "/x"}\' #', "has rackwright 0.0.9"),
    ],
)
def test_a_host_without_our_version_is_told(site: Site, sshd: Sshd, command: str, told: str) -> None:
    site.player = _elsewhere(site, sshd, command)
    result = site.run(Ear(), str(uuid.uuid4()), host="far")
    assert result.status is RunStatus.HINDERED
    assert told in result.cause and HOST in result.cause


def test_the_folder_of_a_worker_is_in_memory() -> None:
    environment = {key: value for key, value in os.environ.items() if key != "XDG_RUNTIME_DIR"}
    words = [*shlex.split(COMMAND), "--door", "/nowhere/door.sock"]
    ended = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    folder = Path(json.loads(ended.stdout)["door"]).parent
    assert folder.parent == Path("/dev/shm")
    assert not folder.exists(), "it goes when the connection ends"

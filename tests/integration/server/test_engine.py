# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The daemon as an operator starts it, with real playbooks on hardware that is not there."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.server.daemon_house import Daemon, command, files_below, free_port, until

pytestmark = pytest.mark.slow


both_ways = pytest.mark.parametrize("daemon", [0, 60], ids=["plain", "forked"], indirect=True)
"""Runs that load Ansible by themselves, and such that are forked."""


@pytest.fixture
def daemon(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Daemon]:
    started = Daemon(tmp_path, fork_server_idle=getattr(request, "param", 60))
    yield started
    started.client.close()
    if started.process.poll() is None:
        started.stop()


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """Return a daemon for tests that leave it as it is."""
    started = Daemon(tmp_path_factory.mktemp("untouched"))
    yield started
    started.stop()


@both_ways
def test_ten_nodes_go_through_their_life_in_a_run_for_each_phase(daemon: Daemon) -> None:
    uuids = daemon.create(10)
    for target, state in (
        ("manage", "manageable"),
        ("inspect", "manageable"),
        ("provide", "available"),
        ("active", "active"),
        ("deleted", "available"),
    ):
        daemon.bring(uuids, target, state)
        assert {node["target_provision_state"] for node in daemon.nodes().values()} == {None}
    started = [line for line in daemon.log.read_text().splitlines() if "A run starts" in line]
    assert len(started) < 30, "nodes share runs"
    assert list((daemon.state / "runs").iterdir()) == [], "nothing stays of runs that ended well"


def test_nothing_that_lies_in_the_working_directory_is_executed(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    for name in ("sqlalchemy", "http", "yaml", "ansible", "ansible_runner", "sushy"):
        (tmp_path / "home" / f"{name}.py").write_text(f"open({str(tmp_path / 'executed')!r}, 'a').write(__file__)")
    daemon = Daemon(tmp_path)
    try:
        daemon.bring(daemon.create(1), "manage", "manageable")
    finally:
        daemon.stop()
    assert not (tmp_path / "executed").exists()


def step(key: str, **more: Any) -> dict[str, Any]:
    interface, _, name = key.partition(".")
    return {"interface": interface, "step": name, **more}


def test_the_other_verbs_run_their_playbooks_too(untouched: Daemon) -> None:
    daemon = untouched
    daemon.client.headers["X-OpenStack-Ironic-API-Version"] = "1.115"
    (adopted,) = daemon.create(1)
    (child,) = daemon.create(1, parent_node=adopted)

    def powered() -> list[str]:
        return [daemon.done("GET", f"/v1/nodes/{uuid}")["power_state"] for uuid in (adopted, child)]

    power = [step("power.power_on"), step("deploy.wait", args={"seconds": 1}), step("power.reboot")]
    plan = [*power, step("power.power_on", execute_on_child_nodes=True), step("deploy.hold"), step("power.power_off")]
    daemon.bring([adopted], "manage", "manageable")
    daemon.bring([adopted], "clean", "clean hold", clean_steps=plan)
    assert powered() == ["power on", "power on"]
    daemon.bring([adopted], "unhold", "manageable")
    assert powered() == ["power off", "power on"]
    daemon.bring([adopted], "adopt", "active")
    daemon.bring([adopted], "rescue", "rescue", rescue_password="canary")
    daemon.bring([adopted], "unrescue", "active")
    daemon.bring([adopted], "service", "service wait", service_steps=[step("vendor.trigger_servicewait")])
    daemon.verb([adopted], "abort")
    until(lambda: daemon.nodes()[adopted]["provision_state"] == "active", 30, "the end of the service")
    assert "aborted" in daemon.nodes()[adopted]["last_error"]
    daemon.bring([adopted], "service", "active", service_steps=[step("vendor.log_passthrough"), step("power.reboot")])
    daemon.bring([adopted], "deleted", "available")


def test_nobody_waits_for_a_slow_node(untouched: Daemon) -> None:
    daemon = untouched
    (slow,) = daemon.create(1, driver_info={"fake_power_delay": "15"})
    quick = daemon.create(9)
    daemon.verb([slow, *quick], "manage")
    until(lambda: daemon.reached(quick, "manageable"), 12, "nine nodes manageable")
    assert daemon.nodes()[slow]["provision_state"] == "verifying"
    until(lambda: daemon.reached([slow], "manageable"), 60, "the slow one manageable too")


def test_a_node_that_fails_says_why_and_the_others_go_on(untouched: Daemon) -> None:
    daemon = untouched
    (bad,) = daemon.create(1, driver_info={"fake_fail": "read_power_state"})
    good = daemon.create(3)
    daemon.verb([bad, *good], "manage")
    until(lambda: daemon.reached(good, "manageable"), 30, "three nodes manageable")
    failed = until(lambda: daemon.nodes()[bad]["last_error"], 30, "an error")
    assert daemon.nodes()[bad]["provision_state"] == "enroll"
    assert "power.read_power_state" in failed and "Remove fake_fail" in failed


@pytest.mark.parametrize(
    ("daemon", "way"),
    [
        (0, {"manage": "manageable"}),
        (60, {"manage": "manageable", "provide": "available", "active": "active"}),
    ],
    ids=["plain", "forked"],
    indirect=["daemon"],
)
def test_every_node_arrives_however_often_the_conductor_is_killed(daemon: Daemon, way: dict[str, str]) -> None:
    uuids = daemon.create(10, driver_info={"fake_delay": "0.3"})
    for target, state in way.items():
        daemon.verb(uuids, target)
        for pause in (0.4, 1.1, 1.9):
            time.sleep(pause)
            daemon.kill("conductor")
        until(partial(daemon.reached, uuids, state), 120, f"{target} to {state}")


def test_the_api_comes_back_when_it_dies_and_on_the_same_port(daemon: Daemon) -> None:
    before = daemon.child("api")
    daemon.kill("api")
    answer = httpx.get(f"http://127.0.0.1:{daemon.port}/v1/nodes", timeout=60)
    assert answer.status_code == 200, "who asks meanwhile, a BMC for its boot image for one, waits and is not refused"
    assert daemon.child("api") not in (None, before)


@both_ways
def test_a_daemon_that_was_killed_leaves_no_process_and_goes_on_when_started(daemon: Daemon) -> None:
    uuids = daemon.create(3, driver_info={"fake_delay": "1"})
    daemon.verb(uuids, "manage")
    time.sleep(1.5)
    daemon.process.kill()
    daemon.process.wait()
    until(lambda: not daemon.left(), 10, "the death of all processes")
    daemon.start()
    until(lambda: daemon.reached(uuids, "manageable"), 60, "three nodes manageable")


@both_ways
def test_a_signal_ends_everything_in_good_order(daemon: Daemon) -> None:
    uuids = daemon.create(2, driver_info={"fake_delay": "1"})
    daemon.verb(uuids, "manage")
    time.sleep(1)
    assert daemon.stop() == 0
    until(lambda: not daemon.left(), 5, "the end of all processes")
    assert "Traceback" not in daemon.log.read_text()


@both_ways
def test_no_secret_is_in_a_file_or_a_list_of_processes(daemon: Daemon) -> None:
    canary = "canary-of-the-bmc"
    uuids = daemon.create(2, driver_info={"redfish_password": canary, "fake_delay": "1"})
    daemon.verb(uuids, "manage")
    seen = []
    while not daemon.reached(uuids, "manageable"):
        for pid in daemon.left():
            for name in ("cmdline", "environ"):
                try:
                    seen.append(canary.encode() in Path(f"/proc/{pid}/{name}").read_bytes())
                except OSError:
                    continue
        seen += [canary.encode() in text for text in _texts(daemon)]
    assert seen and not any(seen)


def _texts(daemon: Daemon) -> Iterator[bytes]:
    """Yield what is in the files of the state directory; those of a run come and go."""
    for path in files_below(daemon.state):
        with contextlib.suppress(OSError):
            yield path.read_bytes()


def test_a_taken_port_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = _run("serve", "--state-dir", str(tmp_path / "state"), "--port", port)
    assert ended.returncode == 78
    assert f"port {port}" in ended.stderr and "--port" in ended.stderr


def test_a_second_daemon_on_the_same_state_is_refused(untouched: Daemon) -> None:
    ended = _run("serve", "--state-dir", str(untouched.state), "--port", str(free_port()))
    assert ended.returncode == 78
    assert "another daemon" in ended.stderr


def test_a_state_directory_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    ended = _run("serve", "--state-dir", str(tmp_path / "file" / "state"), "--port", str(free_port()))
    assert ended.returncode == 78
    assert "state_dir" in ended.stderr


def test_an_unknown_setting_is_told(tmp_path: Path) -> None:
    (tmp_path / "rackwright.toml").write_text("wave_sise = 1\n")
    ended = _run("serve", "--config", str(tmp_path / "rackwright.toml"), "--state-dir", str(tmp_path / "state"))
    assert ended.returncode == 78
    assert "wave_size" in ended.stderr


def test_a_catalog_that_is_wrong_ends_the_daemon_instead_of_starting_it_for_ever(tmp_path: Path) -> None:
    (tmp_path / "rackwright.toml").write_text('enabled_hardware_types = ["no-such-type"]\n')
    ended = _run("serve", "--config", str(tmp_path / "rackwright.toml"), "--state-dir", str(tmp_path / "state"))
    assert ended.returncode == 78
    assert "no-such-type" in ended.stderr


def test_the_database_can_be_brought_up_to_date_alone(tmp_path: Path) -> None:
    assert _run("db", "upgrade", "--state-dir", str(tmp_path / "state")).returncode == 0
    assert (tmp_path / "state" / "rackwright.sqlite").exists()
    assert (tmp_path / "state").stat().st_mode & 0o077 == 0


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("RACKWRIGHT_")}
    if "--port" not in arguments and arguments[0] == "serve":
        arguments = (*arguments, "--port", str(free_port()))
    return subprocess.run(command(*arguments), env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_an_idle_daemon_rests(daemon: Daemon) -> None:
    time.sleep(3)
    before = _cpu_seconds(daemon)
    time.sleep(5)
    assert _cpu_seconds(daemon) - before < 0.25, "less than five percent of one processor"
    assert "ansible" not in _modules(daemon, "api"), "the API process does not load Ansible"


def _cpu_seconds(daemon: Daemon) -> float:
    ticks = 0
    for pid in daemon.left():
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def _modules(daemon: Daemon, name: str) -> str:
    return "ansible" if "ansible_runner" in Path(f"/proc/{daemon.child(name)}/maps").read_text() else ""


def test_signals_of_the_terminal_end_it_too(daemon: Daemon) -> None:
    daemon.process.send_signal(signal.SIGINT)
    assert daemon.process.wait(30) == 0

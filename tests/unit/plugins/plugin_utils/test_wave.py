# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from ansible_collections.rackwright.metal.tests.unit.plugins.bmc_server import (
    DRIVE,
    SYSTEM,
    BmcServer,
    refusal,
    wait_until,
)
from ansible_collections.rackwright.metal.tests.unit.plugins.wave_stage import Stage

FAKE = "rackwright.metal.fake"
POWER = {"name": "set_power_state", "interface": "power", "role": FAKE, "tasks": "act"}
READ = {"name": "read_power_state", "interface": "power", "role": FAKE, "tasks": "act"}
MANAGE = {"name": "read_management", "interface": "management", "role": FAKE, "tasks": "act"}
REAL_POWER = {"name": "set_power_state", "interface": "power", "role": "rackwright.metal.power"}
REAL_READ = {"name": "read_power_state", "interface": "power", "role": "rackwright.metal.power"}
REAL_MANAGE = {"name": "read_management", "interface": "management", "role": "rackwright.metal.management"}


def target(value: str) -> dict[str, Any]:
    return {**POWER, "args": {"target": value}}


def test_two_nodes_of_one_wave_get_their_own_values(stage: Stage) -> None:
    stage.node("one", steps=[target("power on")])
    stage.node("two", steps=[target("power off")])
    run = stage.play([POWER])
    assert run.code == 0, run.output
    assert run.facts("one") == {"power_state": "power on"}
    assert run.facts("two") == {"power_state": "power off"}
    assert run.of("one") == [("start", 0), ("facts", 0)]


def test_a_node_that_fails_leaves_the_run_and_stops_no_other(stage: Stage) -> None:
    steps = [target("power on"), MANAGE]
    stage.node("good", steps=steps)
    stage.node("bad", steps=steps, node={"driver_info": {"fake_fail": "set_power_state"}})
    run = stage.play([POWER, MANAGE])
    assert run.code == 0, run.output
    assert run.of("bad") == [("start", 0), ("failed", 0)]
    assert run.of("good") == [("start", 0), ("facts", 0), ("start", 1)]
    failed = next(line for line in run.lines if line["event"] == "failed")
    assert failed["cause"].startswith("could not take the step power.set_power_state: driver_info/fake_fail asks")
    assert failed["action"] == "Remove fake_fail."


def test_an_unexpected_error_tells_its_place_since_the_run_leaves_no_log(stage: Stage) -> None:
    stage.node("odd", steps=[READ], node={"driver_info": {"fake_delay": 1e300}})
    (failed,) = (line for line in stage.play([READ]).lines if line["event"] == "failed")
    assert re.search(r"unexpected error, OverflowError: .* \(_fake\.py, line \d+\)$", failed["cause"])
    assert failed["action"] == "Report it as a bug."


def test_a_node_that_is_slower_than_its_wave_falls_behind(stage: Stage) -> None:
    steps = [READ, MANAGE]
    for name in ("quick", "quicker"):
        stage.node(name, steps=steps)
    stage.node("slow", steps=steps, node={"driver_info": {"fake_power_delay": 60}})
    started = time.monotonic()
    run = stage.play([READ, MANAGE])
    assert time.monotonic() - started < 30
    assert run.of("slow") == [("start", 0), ("behind", 0)]
    assert run.of("quick")[-1] == ("start", 1)


def test_a_node_that_is_alone_is_waited_for(stage: Stage) -> None:
    stage.node("slow", steps=[READ], node={"driver_info": {"fake_delay": 3}})
    assert stage.play([READ]).of("slow") == [("start", 0), ("facts", 0)]


def test_a_waiting_node_takes_part_in_no_further_step(stage: Stage) -> None:
    wait = {"name": "trigger_servicewait", "interface": "vendor", "role": FAKE, "tasks": "act"}
    stage.node("one", steps=[wait, MANAGE], agent={"url": None})
    stage.node("two", steps=[wait, MANAGE], agent={"url": "https://192.0.2.1:9999"})
    run = stage.play([wait, MANAGE])
    assert run.of("one") == [("start", 0), ("waiting", 0)]
    assert run.of("two") == [("start", 0), ("start", 1)]


def test_without_batches_every_host_runs_its_own_tasks(stage: Stage) -> None:
    stage.node("one", steps=[target("power on")])
    stage.node("bad", steps=[{**POWER, "args": {"target": "sideways"}}])
    run = stage.play([POWER], batched=False)
    assert run.code == 2, run.output
    assert run.of("one") == [("start", 0), ("facts", 0)]
    assert run.of("bad") == [("start", 0), ("failed", 0)]


def test_a_run_that_the_conductor_does_not_know_fails(stage: Stage) -> None:
    stage.node("one", steps=[READ])
    assert "no such run" in stage.play([READ], run="run-2").output


def test_hostile_texts_are_never_executed(stage: Stage, tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    hostile = f"{{{{ lookup('pipe', 'touch {mark}') }}}}'; touch {mark} #$(touch {mark})"
    shown = {"name": hostile, "properties": {hostile: hostile}, "driver_info": {"redfish_address": hostile}}
    steps: list[dict[str, Any]] = [{**POWER, "args": {"target": hostile}}, MANAGE]
    stage.node("a" + hostile.replace(" ", ""), steps=steps, node=shown, shown=shown, facts={"vendor": hostile})
    stage.node("plain", steps=[target("power on"), MANAGE], shown=shown)
    run = stage.play([POWER, MANAGE])
    assert run.code == 0, run.output
    assert not mark.exists()
    assert run.facts("plain") == {"power_state": "power on"}
    assert sum(line["event"] == "failed" for line in run.lines) == 1


def test_a_wave_of_machines_is_turned_on_through_their_bmcs(stage: Stage, bmc: BmcServer) -> None:
    with BmcServer().running() as other:
        bmc.login = ("admin", "canary-password-1")
        other.login = ("admin", "canary-password-2")
        for name, server in (("one", bmc), ("two", other)):
            stage.node(name, steps=[{**REAL_POWER, "args": {"target": "power on"}}], bmc=server.context())
        run = stage.play([REAL_POWER])
        assert run.code == 0, run.output
        assert run.facts("one") == run.facts("two") == {"power_state": "power on"}
        states = [server.resources[SYSTEM]["PowerState"] for server in (bmc, other)]
        assert states == ["On", "On"]
        assert not (bmc.sessions or other.sessions)


def test_what_bmcs_tell_becomes_facts(stage: Stage, bmc: BmcServer) -> None:
    stage.node("one", steps=[REAL_READ, REAL_MANAGE], bmc=bmc.context())
    run = stage.play([REAL_READ, REAL_MANAGE])
    assert run.facts("one").items() >= {"power_state": "power off", "vendor": "Contoso", "boot_mode": "uefi"}.items()


def test_a_bmc_that_fails_is_reported_with_cause_and_next_action(stage: Stage, bmc: BmcServer) -> None:
    bmc.login = ("admin", "right-password")
    stage.node("one", steps=[REAL_READ], bmc=bmc.context(password="canary-password"))
    run = stage.play([REAL_READ])
    failed = run.lines[-1]
    assert failed["cause"].startswith("could not find the system (BMC http://127.0.0.1:")
    assert failed["cause"].endswith("The BMC refuses user name and password (HTTP 401).")
    assert failed["kind"] == "credentials"
    assert failed["action"] == "Correct user name and password of the BMC."


def test_no_secret_is_in_the_output_or_in_the_list_of_processes(stage: Stage, bmc: BmcServer) -> None:
    def habit(request: Any) -> Any:
        seen.extend(process_texts())
        echo = f"admin/{canary}-password may not {request.method}"
        return refusal(400, message=echo) if request.method == "POST" and request.path.endswith("Reset") else None

    canary = f"canary-{uuid4().hex}"  # no other process of this machine has that
    seen: list[bytes] = []
    bmc.login = ("admin", f"{canary}-password")
    bmc.habits.append(habit)
    step = {**REAL_POWER, "args": {"target": "power on"}}
    agent = {"url": None, "token": f"{canary}-token"}
    stage.node("one", steps=[step, REAL_READ], bmc=bmc.context(), agent=agent)
    run = stage.play([REAL_POWER, REAL_READ])
    assert run.of("one")[-1] == ("failed", 0)
    assert "admin/******** may not POST" in run.output
    assert canary not in run.output
    assert any(b"ansible-playbook" in text for text in seen)
    assert not any(canary.encode() in text for text in seen)


def process_texts() -> list[bytes]:
    texts = []
    for process in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            try:
                texts.append((process / name).read_bytes())
            except OSError:
                continue
    return texts


@pytest.mark.parametrize("password", ["on", "admin"])
def test_a_password_that_is_an_ordinary_word_spoils_no_result(password: str, stage: Stage, bmc: BmcServer) -> None:
    bmc.login = ("admin", password)
    options = bmc.options()
    playbook = [
        {"name": "Turn on", "rackwright.metal.bmc_power": {**options, "state": "on"}, "register": "power"},
        {
            "name": "Feed it on",
            "rackwright.metal.bmc_power": {**options, "state": "{{ power.power_state }}"},
            "register": "again",
        },
        {"name": "Look", "ansible.builtin.assert": {"that": ["power.power_state == 'on'", "not again.changed"]}},
    ]
    run = stage.play_alone(playbook)
    assert run.code == 0, run.output


def test_check_mode_predicts_what_then_happens_and_changes_nothing(stage: Stage, bmc: BmcServer) -> None:
    options = bmc.options()
    tasks = [
        {"name": "Power", "rackwright.metal.bmc_power": {**options, "state": "on"}},
        {"name": "Device", "rackwright.metal.bmc_boot_device": {**options, "device": "pxe"}},
        {"name": "Mode", "rackwright.metal.bmc_boot_mode": {**options, "mode": "bios"}},
        {"name": "Media", "rackwright.metal.bmc_virtual_media": {**options, "image": "http://files.example.com/a.iso"}},
    ]
    predicted = stage.play_alone(tasks, "--check", "--diff")
    assert bmc.calls("POST", "PATCH", "DELETE") == []
    assert "changed=4 " in predicted.output
    assert '-    "power_state": "off"' in predicted.output
    assert "changed=4 " in stage.play_alone(tasks).output
    assert bmc.resources[DRIVE]["Image"] == "http://files.example.com/a.iso"
    assert "changed=0 " in stage.play_alone(tasks, "--check").output


def test_bmc_options_are_given_once_for_all_modules(stage: Stage, bmc: BmcServer) -> None:
    tasks = [{"name": "Read", "rackwright.metal.bmc_info": {"gather": ["power"]}, "register": "bmc"}]
    run = stage.play_alone(tasks, defaults={"group/rackwright.metal.bmc": bmc.options()})
    assert run.code == 0, run.output


def test_a_worker_dies_with_ansible_playbook(stage: Stage) -> None:
    stage.node("slow", steps=[READ], node={"driver_info": {"fake_delay": 60}})
    process = stage.start([READ])
    assert process.stdout
    for line in process.stdout:
        stage.door.hear(line)
        if line.startswith("@node"):
            break
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    assert children
    process.kill()
    process.communicate()
    wait_until(lambda: not [child for child in children if _is_alive(int(child))])


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]

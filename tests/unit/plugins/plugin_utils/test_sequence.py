# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.tests.unit.plugins.bmc_server import DRIVE, SYSTEM, BmcServer
from ansible_collections.rackwright.metal.tests.unit.plugins.wave_stage import Stage

Data = dict[str, Any]
IMAGE = "http://files.example.com/boot.iso"


def sequence(*tasks: Data) -> Data:
    return {"name": "Several", "rackwright.metal.sequence": {"tasks": list(tasks)}, "register": "done"}


def look(*claims: str) -> Data:
    return {"name": "Look", "ansible.builtin.assert": {"that": list(claims)}}


def test_its_tasks_share_one_login_and_return_what_each_of_them_does(stage: Stage, bmc: BmcServer) -> None:
    bmc.login = ("admin", "canary-password")
    options = bmc.options()
    tasks = sequence(
        {"name": "Device", "rackwright.metal.bmc_boot_device": {**options, "device": "pxe"}},
        {"name": "Power", "rackwright.metal.bmc_power": {**options, "state": "on"}},
        {"name": "Again", "rackwright.metal.bmc_power": {**options, "state": "on"}},
    )
    told = look(
        "done is changed",
        "done.results | map(attribute='changed') == [true, true, false]",
        "done.results[1].power_state == 'on'",
    )
    run = stage.play_alone([tasks, told])
    assert run.code == 0, run.output
    assert bmc.resources[SYSTEM]["PowerState"] == "On"
    assert [request.path.rpartition("/")[2] for request in bmc.log if request.method == "POST"].count("Sessions") == 1
    assert not bmc.sessions
    assert "canary" not in run.output


def test_nothing_of_it_is_done_after_a_failure(stage: Stage, bmc: BmcServer) -> None:
    bmc.resources[SYSTEM]["Boot"]["BootSourceOverrideTarget@Redfish.AllowableValues"] = ["Pxe"]
    options = bmc.options()
    tasks = sequence(
        {"name": "Device", "rackwright.metal.bmc_boot_device": {**options, "device": "cdrom"}},
        {"name": "Power", "rackwright.metal.bmc_power": {**options, "state": "on"}},
    )
    told = look("done is failed", "'boot from cdrom' in done.msg", "done.results | length == 1")
    run = stage.play_alone([{**tasks, "ignore_errors": True}, told])
    assert run.code == 0, run.output
    assert bmc.resources[SYSTEM]["PowerState"] == "Off"


def test_check_mode_says_what_each_would_change_and_changes_nothing(stage: Stage, bmc: BmcServer) -> None:
    options = bmc.options()
    tasks = sequence(
        {"name": "Media", "rackwright.metal.bmc_virtual_media": {**options, "image": IMAGE}},
        {"name": "Power", "rackwright.metal.bmc_power": {**options, "state": "on"}},
    )
    run = stage.play_alone([tasks, look("done.results | map(attribute='changed') == [true, true]")], "--check")
    assert run.code == 0, run.output
    assert bmc.calls("POST", "PATCH", "DELETE") == []
    assert bmc.resources[DRIVE]["Inserted"] is False


def test_other_modules_need_a_task_of_their_own(stage: Stage) -> None:
    run = stage.play_alone([sequence({"name": "Say", "ansible.builtin.debug": {"msg": "hello"}})])
    assert run.code == 2
    assert "ansible.builtin.debug cannot be a part of a sequence. Make it a task of its own." in run.output

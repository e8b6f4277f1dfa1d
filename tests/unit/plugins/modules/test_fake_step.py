# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.parametrize(
    ("target", "state"),
    [("power on", "power on"), ("soft power off", "power off"), ("rebooting", "power on")],
)
def test_a_power_target_leads_to_its_state(target: str, state: str, module: Any) -> None:
    answer = module("fake_step", name="set_power_state", interface="power", args={"target": target})
    assert answer["facts"] == {"power_state": state}


def test_the_recorded_power_state_is_read(module: Any) -> None:
    step = {"name": "read_power_state", "interface": "power"}
    assert module("fake_step", **step, power_state="power on")["facts"] == {"power_state": "power on"}
    assert module("fake_step", **step)["facts"] == {"power_state": "power off"}


@pytest.mark.parametrize("name", ["deploy", "deploy.deploy"])
def test_a_step_fails_when_it_is_told_to(name: str, module: Any) -> None:
    answer = module("fake_step", name="deploy", interface="deploy", driver_info={"fake_fail": name})
    assert "driver_info/fake_fail asks for this failure" in answer["msg"]
    assert "failed" not in module("fake_step", name="rescue", interface="rescue", driver_info={"fake_fail": name})


def test_only_pxe_can_be_booted_from(module: Any) -> None:
    step = {"name": "set_boot_device", "interface": "management"}
    answer = module("fake_step", **step, args={"boot_device": "pxe"})
    assert answer["facts"] == {"boot_device": {"boot_device": "pxe", "persistent": False}}
    assert "cannot boot from 'disk'" in module("fake_step", **step, args={"boot_device": "disk"})["msg"]


def test_bios_settings_are_stored_as_given(module: Any) -> None:
    settings = [{"name": "Turbo", "value": "on"}]
    step = {"name": "apply_configuration", "interface": "bios"}
    assert module("fake_step", **step, args={"settings": settings})["facts"] == {"bios_settings": settings}
    assert "is no list of objects" in module("fake_step", **step)["msg"]


def test_firmware_is_updated_to_what_the_url_names(module: Any) -> None:
    step = {"name": "update", "interface": "firmware"}
    settings = [{"component": "bmc", "url": "http://files.example.com/bmc-2.1.bin"}]
    found = {"component": "bmc", "current_version": "bmc-2.1.bin", "last_version_flashed": "bmc-2.1.bin"}
    assert module("fake_step", **step, args={"settings": settings})["facts"] == {"firmware_components": [found]}
    assert "is no list of objects" in module("fake_step", **step, args={"settings": [{}]})["msg"]


@pytest.mark.parametrize(
    ("name", "value", "result"),
    [
        ("second_method", "kazoo", True),
        ("second_method", "baz", False),
        ("third_method_sync", "meow", True),
        ("fourth_method_shared_lock", "woof", True),
        ("fourth_method_shared_lock", 1, False),
    ],
)
def test_a_vendor_method_likes_one_value(name: str, value: Any, result: bool, module: Any) -> None:
    answer = module("fake_step", name=name, interface="vendor", args={"bar": value})
    assert answer["facts"] == {"result": result}


def test_one_of_the_lights_can_be_switched(module: Any) -> None:
    step = {"name": "set_indicator", "interface": "management"}
    light = {"indicator": "led", "component": "system", "state": "blinking"}
    assert module("fake_step", **step, args=light)["facts"] == {}
    for wrong in ({"state": "green"}, {"component": "chassis"}, {"indicator": "led-0", "component": "chassis"}):
        assert "Choose led@system" in module("fake_step", **step, args=light | wrong)["msg"]


@pytest.mark.parametrize("delay", ["soon", "1,later", "-1"])
def test_a_delay_that_is_none_is_an_error(delay: str, module: Any) -> None:
    answer = module("fake_step", name="deploy", interface="deploy", driver_info={"fake_deploy_delay": delay})
    assert "Correct fake_delay in driver_info" in answer["msg"]
    assert "is no number of seconds" in module("fake_step", name="deploy", interface="deploy", delay=delay)["msg"]

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rackwright.metal.tests.unit.plugins.bmc_server import SYSTEM, BmcServer


def test_a_power_state_is_reached_once(bmc: BmcServer, module: Any) -> None:
    answer = module("bmc_power", **bmc.options(), state="on")
    assert (answer["changed"], answer["power_state"]) == (True, "on")
    assert answer["diff"] == {"before": {"power_state": "off"}, "after": {"power_state": "on"}}
    assert module("bmc_power", **bmc.options(), state="on")["changed"] is False


@pytest.mark.parametrize("state", ["reboot", "soft_reboot"])
def test_a_reboot_always_changes_something(state: str, bmc: BmcServer, module: Any) -> None:
    bmc.resources[SYSTEM]["PowerState"] = "On"
    answer = module("bmc_power", **bmc.options(), state=state)
    assert (answer["changed"], answer["power_state"]) == (True, "on")
    assert bmc.calls()


def test_check_mode_sends_nothing(bmc: BmcServer, module: Any) -> None:
    assert module("bmc_power", **bmc.options(), state="on", _ansible_check_mode=True)["changed"] is True
    assert bmc.calls() == []


def test_the_power_is_cut_where_no_shutdown_can_be_asked_for(bmc: BmcServer, module: Any) -> None:
    bmc.resources[SYSTEM]["PowerState"] = "On"
    actions = bmc.resources[SYSTEM]["Actions"]["#ComputerSystem.Reset"]
    actions["ResetType@Redfish.AllowableValues"] = ["On", "ForceOff"]
    answer = module("bmc_power", **bmc.options(), state="soft_off")
    assert "did not shut down" not in str(answer)
    assert bmc.bodies("POST") == [{"ResetType": "ForceOff"}]


@pytest.mark.usefixtures("bmc")
def test_an_unreachable_bmc_is_a_clear_error(module: Any) -> None:
    gone = BmcServer()
    with gone.running():
        pass
    answer = module("bmc_power", **gone.options(), state="on")
    assert answer["failed"]
    assert "cannot be reached: Connection refused" in answer["msg"]

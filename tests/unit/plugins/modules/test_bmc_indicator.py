# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.tests.unit.plugins.bmc_server import BmcServer


def test_a_light_is_switched_once(bmc: BmcServer, module: Any) -> None:
    answer = module("bmc_indicator", **bmc.options(), name="1", state="blinking")
    assert answer["diff"] == {"before": {"state": "off"}, "after": {"state": "blinking"}}
    assert module("bmc_indicator", **bmc.options(), name="1", state="blinking")["changed"] is False


def test_check_mode_sends_nothing(bmc: BmcServer, module: Any) -> None:
    options = {**bmc.options(), "name": "1", "component": "chassis", "state": "off"}
    assert module("bmc_indicator", **options, _ansible_check_mode=True)["changed"] is True
    assert bmc.calls() == []


def test_a_light_that_is_not_there_is_named(bmc: BmcServer, module: Any) -> None:
    assert "no such indicator" in module("bmc_indicator", **bmc.options(), name="fan", state="on")["msg"]

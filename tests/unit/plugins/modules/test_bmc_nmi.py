# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils._bmc import connect
from ansible_collections.rackwright.metal.plugins.module_utils._errors import NotOfferedError
from ansible_collections.rackwright.metal.tests.unit.plugins.bmc_server import SYSTEM, BmcServer, refusal


def test_a_machine_is_interrupted_each_time(bmc: BmcServer, module: Any) -> None:
    for _time in range(2):
        assert module("bmc_nmi", **bmc.options())["changed"] is True
    assert bmc.bodies("POST") == [{"ResetType": "Nmi"}] * 2


def test_check_mode_sends_nothing(bmc: BmcServer, module: Any) -> None:
    assert module("bmc_nmi", **bmc.options(), _ansible_check_mode=True)["changed"] is True
    assert bmc.calls() == []


def test_a_bmc_that_only_seems_to_offer_it_is_told_from_one_that_fails(bmc: BmcServer) -> None:
    bmc.reset_answers(refusal(501, message="NMI is not supported"))
    with connect(bmc.context()) as machine, pytest.raises(NotOfferedError, match="NMI is not supported"):
        machine.interrupt()


def test_a_bmc_that_cannot_do_it_says_what_it_can(bmc: BmcServer, module: Any) -> None:
    action = bmc.resources[SYSTEM]["Actions"]["#ComputerSystem.Reset"]
    action["ResetType@Redfish.AllowableValues"] = ["On", "ForceOff"]
    assert "The BMC offers only On, ForceOff" in module("bmc_nmi", **bmc.options())["msg"]
    assert bmc.calls() == []

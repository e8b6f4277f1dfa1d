# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.tests.unit.plugins.bmc_server import BmcServer


def test_a_mode_is_chosen_once_and_the_device_stays(bmc: BmcServer, module: Any) -> None:
    module("bmc_boot_device", **bmc.options(), device="pxe")
    answer = module("bmc_boot_mode", **bmc.options(), mode="bios")
    assert answer["diff"] == {"before": {"mode": "uefi"}, "after": {"mode": "bios"}}
    assert module("bmc_boot_mode", **bmc.options(), mode="bios")["changed"] is False
    assert module("bmc_boot_device", **bmc.options(), device="pxe")["changed"] is False


def test_check_mode_sends_nothing(bmc: BmcServer, module: Any) -> None:
    assert module("bmc_boot_mode", **bmc.options(), mode="bios", _ansible_check_mode=True)["changed"] is True
    assert bmc.calls() == []

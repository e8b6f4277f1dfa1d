# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.tests.unit.plugins.bmc_server import BmcServer


def test_a_device_is_chosen_once(bmc: BmcServer, module: Any) -> None:
    answer = module("bmc_boot_device", **bmc.options(), device="pxe", persistent=True)
    assert answer["diff"] == {
        "before": {"device": None, "persistent": False},
        "after": {"device": "pxe", "persistent": True},
    }
    assert module("bmc_boot_device", **bmc.options(), device="pxe", persistent=True)["changed"] is False
    assert module("bmc_boot_device", **bmc.options(), device="pxe")["changed"] is True


def test_check_mode_sends_nothing(bmc: BmcServer, module: Any) -> None:
    assert module("bmc_boot_device", **bmc.options(), device="pxe", _ansible_check_mode=True)["changed"] is True
    assert bmc.calls() == []


def test_a_device_that_is_not_offered_is_an_error(bmc: BmcServer, module: Any) -> None:
    assert "offers only pxe, disk, cdrom, bios" in module("bmc_boot_device", **bmc.options(), device="usb")["msg"]

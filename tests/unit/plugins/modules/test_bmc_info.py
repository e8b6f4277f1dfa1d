# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.tests.unit.plugins.bmc_server import BmcServer


def test_all_that_the_bmc_tells_is_returned(bmc: BmcServer, module: Any) -> None:
    answer = module("bmc_info", **bmc.options())
    assert answer["changed"] is False
    assert answer["power_state"] == "off"
    assert answer["system"]["manufacturer"] == "Contoso"
    assert answer["boot"] == {
        "device": None,
        "persistent": False,
        "mode": "uefi",
        "supported": ["pxe", "disk", "cdrom", "bios"],
    }
    assert answer["secure_boot"] is False
    assert answer["media"] == {"image": None}
    assert answer["macs"] == []


def test_the_power_state_costs_no_more_than_the_system(bmc: BmcServer, module: Any) -> None:
    module("bmc_info", **bmc.options(system_id="/redfish/v1/Systems/1"), gather=["power"])
    assert [request.path for request in bmc.log] == ["/redfish/v1/", "/redfish/v1/Systems/1"]


def test_drives_and_lights_are_told_on_request(bmc: BmcServer, module: Any) -> None:
    answer = module("bmc_info", **bmc.options(), gather=["drives", "indicators"])
    assert answer["drives"] == [{"name": "Cd", "device_types": ["cdrom"], "inserted": False, "image": None}]
    assert [(each["component"], each["state"]) for each in answer["indicators"]] == [
        ("system", "off"),
        ("chassis", "on"),
    ]

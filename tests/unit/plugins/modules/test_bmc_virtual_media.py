# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.tests.unit.plugins.bmc_server import ISO, BmcServer


def test_an_image_is_inserted_and_ejected_once(bmc: BmcServer, module: Any) -> None:
    answer = module("bmc_virtual_media", **bmc.options(), image=ISO)
    assert (answer["changed"], answer["image"]) == (True, ISO)
    assert module("bmc_virtual_media", **bmc.options(), image=ISO)["changed"] is False
    answer = module("bmc_virtual_media", **bmc.options(), state="absent")
    assert (answer["changed"], answer["image"]) == (True, None)
    assert module("bmc_virtual_media", **bmc.options(), state="absent")["changed"] is False


def test_check_mode_sends_nothing(bmc: BmcServer, module: Any) -> None:
    assert module("bmc_virtual_media", **bmc.options(), image=ISO, _ansible_check_mode=True)["changed"] is True
    assert bmc.calls() == []


def test_an_image_is_needed_to_insert_one(bmc: BmcServer, module: Any) -> None:
    assert "image" in module("bmc_virtual_media", **bmc.options())["msg"]


def test_kinds_of_drives_are_emptied_together(bmc: BmcServer, module: Any) -> None:
    module("bmc_virtual_media", **bmc.options(), image=ISO)
    options = {**bmc.options(), "state": "absent"}
    assert module("bmc_virtual_media", **options, devices=["floppy"])["changed"] is False
    assert module("bmc_virtual_media", **options, devices=["floppy", "cdrom"])["changed"] is True

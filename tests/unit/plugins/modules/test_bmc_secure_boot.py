# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.tests.unit.plugins.bmc_server import SYSTEM, BmcServer


def test_secure_boot_is_switched_once(bmc: BmcServer, module: Any) -> None:
    answer = module("bmc_secure_boot", **bmc.options(), enabled=True)
    assert answer["diff"] == {"before": {"enabled": False}, "after": {"enabled": True}}
    assert bmc.resources[f"{SYSTEM}/SecureBoot"]["SecureBootEnable"] is True
    assert module("bmc_secure_boot", **bmc.options(), enabled=True)["changed"] is False


def test_check_mode_sends_nothing(bmc: BmcServer, module: Any) -> None:
    assert module("bmc_secure_boot", **bmc.options(), enabled=True, _ansible_check_mode=True)["changed"] is True
    assert bmc.calls() == []

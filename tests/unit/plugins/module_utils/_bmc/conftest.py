# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils._bmc import (
    redfish,
    redfish_boot,
    redfish_media,
    redfish_service,
)
from ansible_collections.rackwright.metal.tests.unit.plugins.bmc_server import BmcServer


@pytest.fixture
def bmc(monkeypatch: pytest.MonkeyPatch) -> Iterator[BmcServer]:
    """Run a BMC, and shorten the pauses of those who talk to it."""
    monkeypatch.setattr(redfish, "INTERVAL", 0.02)
    monkeypatch.setattr(redfish_service, "PAUSE", 0.02)
    monkeypatch.setattr(redfish_boot, "READ_BACK", 0.2)
    monkeypatch.setattr(redfish_media, "READ_BACK", 0.2)
    with BmcServer().running() as server:
        yield server

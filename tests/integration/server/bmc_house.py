# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The first machine of a simulated rack, as our own modules and as plain HTTP clients see it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import httpx

from ansible_collections.rackwright.metal.plugins.module_utils._bmc import connect
from ansible_collections.rackwright.metal.plugins.module_utils._bmc.base import Bmc
from tests.integration.server.simulated_house import Rack, running

ISO = "http://127.0.0.1:9/boot.iso"
_NO_OVERRIDE = {"Target": "None", "Enabled": "Disabled", "Mode": "UEFI"}


@contextmanager
def small_rack(folder: Path) -> Iterator[Rack]:
    """Run a rack of two quick machines, each with a BMC of its own."""
    with running(folder, 2, "--bmc-ports", "--boot-seconds=0.1", "--power-seconds=0.05", "--session-seconds=600") as it:
        yield it


def calm(rack: Rack) -> Rack:
    """Return the rack without faults, its first machine switched off, with nothing in its drives and no override."""
    rack.faults()
    nothing = {f"BootSourceOverride{key}": value for key, value in _NO_OVERRIDE.items()}
    with http(rack) as client:
        client.patch(rack.machines[0]["system"], json={"Boot": nothing}).raise_for_status()
    with bmc(rack) as it:
        it.set_power_state("off", 10)
        it.eject()
    return rack


def bmc(rack: Rack, **more: Any) -> AbstractContextManager[Bmc]:
    """Return the BMC of the first machine as our own modules see it."""
    facts, machine = rack.facts, rack.machines[0]
    login = {"username": facts["username"], "password": facts["password"], "auth_type": "auto", "verify_ca": True}
    return connect({"protocol": "redfish", "address": machine["redfish"], "system_id": None, **login, **more})


def http(rack: Rack) -> httpx.Client:
    """Return a client of the first machine's BMC."""
    facts = rack.facts
    login = (facts["username"], facts["password"])
    return httpx.Client(base_url=rack.machines[0]["redfish"], auth=login, trust_env=False, timeout=10)

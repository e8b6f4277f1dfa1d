# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils._bmc import connect
from ansible_collections.rackwright.metal.plugins.module_utils._errors import NotOfferedError
from ansible_collections.rackwright.metal.tests.unit.plugins.bmc_server import (
    SYSTEM,
    Answer,
    BmcServer,
    recorded,
)

RESOURCE = f"{SYSTEM}/SecureBoot"


def switch(bmc: BmcServer, enabled: bool) -> list[str]:
    with connect(bmc.context()) as machine:
        machine.set_secure_boot(enabled)
        return machine.notes


@pytest.mark.parametrize(
    "name",
    [
        "dell-r750-idrac9-6.00.30",
        "gigabyte-h262z63-megarac-12.84",
        "hpe-dl360gen10plus-ilo5-3.11",
        "hpe-dl360gen12-ilo7-1.14",
        "lenovo-sr670v2-xcc-2.83",
        "supermicro-sys821ge-x13-01.01.01",
        "nvidia-gb200-openbmc-24.12",
    ],
)
def test_every_recorded_machine_switches_it(name: str, bmc: BmcServer) -> None:
    bmc.resources = recorded(name)
    with connect(bmc.context(system_id="System_0" if name.startswith("nvidia") else None)) as machine:
        assert (machine.secure_boot(), machine.next_secure_boot()) == (False, False)
        machine.set_secure_boot(True)
        assert (machine.secure_boot(), machine.next_secure_boot(), machine.notes) == (False, True, [])


@pytest.mark.parametrize("name", ["intel-s2600bpb-bmc-1.93", "supermicro-x10sdv-x10-4.00", "openbmc-stock-2.15"])
def test_a_machine_without_it_is_told_from_one_that_fails(name: str, bmc: BmcServer) -> None:
    bmc.resources = recorded(name)
    with connect(bmc.context()) as machine:
        assert machine.next_secure_boot() is None
        with pytest.raises(NotOfferedError, match="does not offer to switch it"):
            machine.set_secure_boot(True)
    assert bmc.calls() == []


def test_pending_settings_count_where_a_bmc_has_them(bmc: BmcServer) -> None:
    pending = f"{RESOURCE}/Settings"
    bmc.resources[RESOURCE]["@Redfish.Settings"] = {"SettingsObject": {"@odata.id": pending}}
    bmc.resources[pending] = {"SecureBootEnable": True}
    with connect(bmc.context()) as machine:
        assert machine.next_secure_boot() is True


def test_a_bmc_that_shows_it_only_after_the_next_boot_is_believed_with_a_note(bmc: BmcServer) -> None:
    bmc.habits.append(lambda request: Answer(204) if request.method == "PATCH" else None)
    (note,) = switch(bmc, True)
    assert "does not show it before the next boot; its secure boot mode is UserMode" in note

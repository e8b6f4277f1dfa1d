# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What operators of other provisioners ran into with their BMCs; each case has its name on our list of them."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils._bmc import redfish_service
from ansible_collections.rackwright.metal.plugins.module_utils._bmc.base import Bmc
from ansible_collections.rackwright.metal.plugins.module_utils._bmc.operations import (
    Change,
    read_info,
    set_boot_device,
    set_boot_mode,
    set_media,
    set_power,
)
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from tests.integration.server.bmc_house import ISO, bmc
from tests.integration.server.simulated_house import Data, Rack

TARGETS = {"pxe": "Pxe", "cdrom": "Cd", "disk": "Hdd"}
CD: Data = {"devices": ["cdrom"]}
INSERT: Data = {**CD, "state": "present", "image": ISO}
EJECT: Data = {**CD, "state": "absent", "image": None}


class Watched:
    """What was asked of the first machine since this was made."""

    def __init__(self, rack: Rack) -> None:
        self._rack, self._start = rack, len(rack.history())

    def requests(self, method: str) -> list[tuple[str, int]]:
        """Return the end of the path and the status of each change that was asked for."""
        since = [entry for entry in self._rack.history()[self._start :] if entry["what"] == "request"]
        return [(each["path"].rpartition("/")[2], each["status"]) for each in since if each["method"] == method]

    def happened(self, what: str) -> list[Data]:
        """Return the entries of the history that tell this."""
        return [entry for entry in self._rack.history()[self._start :] if entry["what"] == what]


def choose(it: Bmc, device: str, *, persistent: bool = False) -> Change:
    return set_boot_device(it, {"device": device, "persistent": persistent}, check=False)


def power(it: Bmc, state: str) -> Change:
    return set_power(it, {"state": state, "timeout": 10}, check=False)


@pytest.mark.parametrize("variant", "ab")
def test_vmedia_extra_fields_refused(rack: Rack, variant: str) -> None:
    rack.faults({"fault": "vmedia-extra-fields-refused", "variant": variant})
    watched = Watched(rack)
    with bmc(rack) as it:
        assert [set_media(it, INSERT, check=False).changed for _ in range(2)] == [True, False]
    assert rack.machine()["media"]["Cd"] == ISO
    assert watched.requests("POST")[-1] == ("VirtualMedia.InsertMedia", 204)
    with bmc(rack) as it:
        assert set_media(it, INSERT, check=False).changed is False


def test_vmedia_patch_only_no_action(rack: Rack) -> None:
    rack.faults({"fault": "vmedia-patch-only-no-action"})
    watched = Watched(rack)
    with bmc(rack) as it:
        told = [set_media(it, params, check=False).changed for params in (INSERT, INSERT, EJECT, EJECT)]
    assert told == [True, False, True, False]
    assert [entry["url"] for entry in watched.happened("inserted")] == [ISO]
    assert len(watched.happened("ejected")) == 1
    assert (watched.requests("POST"), watched.happened("guessed")) == ([], [])


@pytest.mark.parametrize("variant", "abcde")
def test_etag_forms_ladder(rack: Rack, variant: str) -> None:
    rack.faults({"fault": "etag-forms-ladder", "variant": variant})
    with bmc(rack) as it:
        choose(it, "pxe")
        assert rack.machine()["boot"]["target"] == "Pxe"
        watched = Watched(rack)
        choose(it, "disk")
    assert rack.machine()["boot"]["target"] == "Hdd"
    assert [status for _, status in watched.requests("PATCH")] == [204], "it knows the form that worked"


@pytest.mark.parametrize("variant", "ab")
def test_boot_override_in_settings_resource(rack: Rack, variant: str) -> None:
    rack.faults({"fault": "boot-override-in-settings-resource", "variant": variant})
    watched = Watched(rack)
    with bmc(rack) as it:
        for device, target in TARGETS.items():
            assert choose(it, device).changed
            assert it.boot().device == device
            boot = rack.machine()["boot"]
            assert (boot["target"], boot["enabled"]) == (target, "Once")
    wanted = "Settings" if variant == "a" else rack.machines[0]["system"].rpartition("/")[2]
    assert {name for name, status in watched.requests("PATCH") if status == 204} == {wanted}


def test_boot_override_needs_all_three(rack: Rack) -> None:
    rack.faults({"fault": "boot-override-needs-all-three", "variant": "a"})
    watched = Watched(rack)
    with bmc(rack) as it:
        choose(it, "pxe")
        assert rack.machine()["boot"] == {"target": "Pxe", "enabled": "Once", "mode": "UEFI", "uri": None}
        assert [status for _, status in watched.requests("PATCH")] == [400, 204], "one more try is enough"
        power(it, "on")
        power(it, "off")  # this boot was the one that the override was for
        set_boot_mode(it, {"mode": "bios"}, check=False)
    assert rack.machine()["boot"] == {"target": "None", "enabled": "Disabled", "mode": "Legacy", "uri": None}


def test_boot_override_needs_all_three_or_applies_what_it_refuses(rack: Rack) -> None:
    rack.faults({"fault": "boot-override-needs-all-three", "variant": "b"})
    watched = Watched(rack)
    with bmc(rack) as it:
        choose(it, "pxe")
        assert rack.machine()["boot"]["target"] == "Pxe"
        assert ["cannot be written" in note for note in it.notes] == [True], "the operator hears of it once"
    assert [status for _, status in watched.requests("PATCH")] == [400], "what was read back is believed"


def test_redirects_and_trailing_slashes(rack: Rack) -> None:
    rack.faults({"fault": "redirects-and-trailing-slashes", "variant": "a"})
    watched = Watched(rack)
    with bmc(rack) as it:
        assert power(it, "on").changed
        assert it.facts().uuid == rack.machines[0]["system"].rpartition("/")[2]
    assert [entry["kind"] for entry in watched.happened("reset")] == ["On"], "method and body arrive at the new place"
    rack.faults({"fault": "redirects-and-trailing-slashes", "variant": "b"})
    with bmc(rack) as it, pytest.raises(OperationError, match=r"redirects to another server, elsewhere\.invalid"):
        power(it, "off")
    assert rack.machine()["power"] == "On"


@pytest.mark.parametrize("variant", "ab")
def test_no_ethernet_interfaces(rack: Rack, variant: str) -> None:
    rack.faults({"fault": "no-ethernet-interfaces", "variant": variant})
    with bmc(rack) as it:
        found = read_info(it, {"gather": ["power", "system", "network"]}).after
    assert found["macs"] == ([] if variant == "a" else [rack.machines[0]["mac"]])
    assert (found["power_state"], found["system"]["manufacturer"]) == ("off", "Rackwright")


CUT = "slow-leak-in-long-run"
LOGIN = "POST /redfish/v1/SessionService/Sessions"
TROUBLE: list[dict[str, Any]] = [
    {"fault": "connection-reset", "percent": 2},
    {"fault": "server-error", "percent": 1},
    {"fault": "session-expired", "percent": 1},
    {"fault": CUT, "percent": 1},
]
"""One request in twenty fails, in ways after which clients forget to clear up."""


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def resident() -> int:
    """Return the memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def look(rack: Rack, times: int) -> None:
    """Look at the machine, as a poll does that opens a session each time."""
    for _ in range(times):
        with suppress(OperationError), bmc(rack) as it:
            read_info(it, {"gather": ["power", "boot", "media"]})


def test_slow_leak_in_long_run(rack: Rack, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(redfish_service, "PAUSE", 0.01)
    caplog.set_level("CRITICAL", logger="sushy")  # what is logged is kept, which takes memory
    before, watched = rack.sessions(), Watched(rack)
    rack.faults(*TROUBLE)
    look(rack, 20)
    requests, files, memory = rack.load()["requests"], open_files(), resident()
    look(rack, 80)
    assert rack.load()["requests"] - requests > 500
    assert open_files() <= files
    assert resident() - memory < 2**20
    faults = watched.happened("fault")
    assert len(faults) > 10
    unknown = [each for each in faults if each["fault"] == CUT and each["request"] == LOGIN]
    rack.faults()
    assert rack.sessions() == before + len(unknown), "only a session stays open whose login was answered in vain"

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils._bmc import connect
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.tests.unit.plugins.bmc_server import (
    SYSTEM,
    Answer,
    BmcServer,
    Request,
    recorded,
    refusal,
)

TARGET, ENABLED, MODE = "BootSourceOverrideTarget", "BootSourceOverrideEnabled", "BootSourceOverrideMode"
SETTINGS = f"{SYSTEM}/Settings"


def override(bmc: BmcServer, path: str = SYSTEM) -> dict[str, Any]:
    return {key: bmc.resources[path]["Boot"].get(key) for key in (TARGET, ENABLED, MODE)}


def choose(bmc: BmcServer, device: str, *, persistent: bool = False) -> list[str]:
    with connect(bmc.context()) as machine:
        machine.set_boot_device(device, persistent=persistent)
        assert machine.boot().device == device
        return machine.notes


def test_a_device_is_chosen_with_the_fewest_fields(bmc: BmcServer) -> None:
    assert choose(bmc, "cdrom") == []
    assert bmc.bodies("PATCH") == [{"Boot": {TARGET: "Cd", ENABLED: "Once"}}]
    assert override(bmc) == {TARGET: "Cd", ENABLED: "Once", MODE: "UEFI"}


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("dell-r750-idrac9-6.00.30", "Cd"),
        ("hpe-dl360gen10plus-ilo5-3.11", "Cd"),
        ("gigabyte-h262z63-megarac-12.84", "Cd"),
        ("huawei-2288hv5-ibmc-3.12", "Cd"),
        ("supermicro-sys821ge-x13-01.01.01", "UsbCd"),
        ("supermicro-x10sdv-x10-4.00", "UsbCd"),
        ("lenovo-sr670v2-xcc-2.83", "Cd"),
    ],
)
def test_every_recorded_machine_boots_from_its_virtual_cd(name: str, target: str, bmc: BmcServer) -> None:
    bmc.resources = recorded(name)
    choose(bmc, "cdrom")
    system = bmc.resources["/redfish/v1/Systems"]["Members"][0]["@odata.id"].rstrip("/")
    assert bmc.resources[system]["Boot"][TARGET] == target


def test_a_device_that_the_bmc_does_not_offer_is_refused_with_those_that_it_does(bmc: BmcServer) -> None:
    with connect(bmc.context()) as machine, pytest.raises(OperationError, match="offers only pxe, disk, cdrom, bios"):
        machine.set_boot_device("floppy", persistent=False)
    assert bmc.calls() == []


def test_a_bmc_that_wants_all_three_fields_gets_them_with_the_current_mode(bmc: BmcServer) -> None:
    def habit(request: Request) -> Answer | None:
        boot = request.body.get("Boot", {})
        incomplete = set(boot) != {TARGET, ENABLED, MODE} or None in boot.values()
        return refusal(400, "PropertyMissing") if request.method == "PATCH" and incomplete else None

    bmc.habits.append(habit)
    choose(bmc, "pxe")
    assert bmc.bodies("PATCH")[1:] == [{"Boot": {TARGET: "Pxe", ENABLED: "Once", MODE: "UEFI"}}]
    bmc.resources[SYSTEM]["Boot"] |= {TARGET: "None", ENABLED: "Disabled"}
    with connect(bmc.context()) as machine:
        machine.set_boot_mode("bios")
    assert override(bmc) == {TARGET: "None", ENABLED: "Disabled", MODE: "Legacy"}


def test_a_bmc_that_refuses_a_field_and_applies_the_rest_is_believed_once_it_shows_it(bmc: BmcServer) -> None:
    def habit(request: Request) -> Answer | None:
        if request.method != "PATCH" or ENABLED not in request.body["Boot"]:
            return None
        bmc.resources[SYSTEM]["Boot"] |= {TARGET: request.body["Boot"][TARGET], ENABLED: "Once"}
        return refusal(400, "PropertyNotWritable", "read-only")

    bmc.habits.append(habit)
    notes = choose(bmc, "pxe")
    assert len(notes) == 1
    assert "read-only" in notes[0]
    assert len(bmc.bodies("PATCH")) == 1


def test_an_override_that_is_accepted_and_ignored_is_an_error(bmc: BmcServer) -> None:
    bmc.habits.append(lambda request: Answer(200) if request.method == "PATCH" else None)
    with connect(bmc.context()) as machine, pytest.raises(OperationError, match=r"still shows .*Target None"):
        machine.set_boot_device("pxe", persistent=False)


def with_settings(bmc: BmcServer, boot: dict[str, Any]) -> None:
    bmc.resources[SYSTEM]["@Redfish.Settings"] = {"SettingsObject": {"@odata.id": SETTINGS}}
    bmc.resources[SETTINGS] = {"Id": "Settings", **boot}


@pytest.mark.parametrize("device", ["pxe", "cdrom", "disk"])
def test_the_settings_resource_is_used_where_only_it_takes_the_override(device: str, bmc: BmcServer) -> None:
    own = bmc.resources[SYSTEM]["Boot"]
    with_settings(bmc, {"Boot": dict(own)})
    del own[f"{TARGET}@Redfish.AllowableValues"]
    bmc.habits.append(lambda request: refusal(405) if (request.method, request.path) == ("PATCH", SYSTEM) else None)
    choose(bmc, device)
    assert override(bmc, SETTINGS)[ENABLED] == "Once"


@pytest.mark.parametrize("device", ["pxe", "cdrom", "disk"])
def test_a_settings_resource_without_boot_is_left_alone(device: str, bmc: BmcServer) -> None:
    with_settings(bmc, {})
    choose(bmc, device)
    assert bmc.calls() == [f"PATCH {SYSTEM}"]


def test_a_settings_resource_that_refuses_is_no_end(bmc: BmcServer) -> None:
    with_settings(bmc, {"Boot": dict(bmc.resources[SYSTEM]["Boot"])})
    bmc.habits.append(
        lambda request: (
            refusal(400, "PropertyNotWritable") if (request.method, request.path) == ("PATCH", SETTINGS) else None
        )
    )
    choose(bmc, "pxe")
    assert override(bmc)[TARGET] == "Pxe"


QUOTED, WEAK = '"abc"', 'W/"abc"'


@pytest.mark.parametrize(
    ("given", "accepted"),
    [(QUOTED, QUOTED), (QUOTED, "abc"), (WEAK, QUOTED), (WEAK, WEAK), (QUOTED, None), ("", None)],
)
def test_an_etag_is_sent_in_the_form_that_the_bmc_takes(given: str, accepted: str | None, bmc: BmcServer) -> None:
    bmc.resources[SYSTEM]["@odata.etag"] = given

    def habit(request: Request) -> Answer | None:
        wrong = request.method == "PATCH" and request.headers.get("If-Match") != accepted
        return refusal(412) if wrong else None

    bmc.habits.append(habit)
    with connect(bmc.context()) as machine:
        machine.set_boot_device("pxe", persistent=False)
        attempts = len(bmc.bodies("PATCH"))
        machine.set_boot_device("disk", persistent=False)
        assert len(bmc.bodies("PATCH")) == attempts + 1
    assert all(request.headers.get("If-Match") != "" for request in bmc.log)


def test_a_bmc_that_takes_no_form_of_its_etag_is_reported(bmc: BmcServer) -> None:
    bmc.resources[SYSTEM]["@odata.etag"] = WEAK
    bmc.habits.append(lambda request: refusal(412) if request.method == "PATCH" else None)
    with connect(bmc.context()) as machine, pytest.raises(OperationError, match="HTTP 412"):
        machine.set_boot_device("pxe", persistent=False)
    sent = [request.headers.get("If-Match") for request in bmc.log if request.method == "PATCH"]
    assert sent == [WEAK, QUOTED, "abc", None]


class Rival:
    """Somebody else, who changes the system some times just before we do."""

    def __init__(self, bmc: BmcServer, times: int) -> None:
        self.bmc, self.left = bmc, times
        self._renew()

    def _renew(self) -> None:
        self.bmc.resources[SYSTEM]["@odata.etag"] = f'"{self.left}"'

    def __call__(self, request: Request) -> Answer | None:
        if request.method != "PATCH":
            return None
        if self.left:
            self.left -= 1
            self._renew()
        fits = request.headers.get("If-Match") in (None, self.bmc.resources[SYSTEM]["@odata.etag"])
        return None if fits else refusal(412)


def test_a_change_that_somebody_else_was_faster_with_is_made_upon_theirs(bmc: BmcServer) -> None:
    bmc.habits.append(Rival(bmc, 1))
    choose(bmc, "pxe")
    sent = [request.headers.get("If-Match") for request in bmc.log if request.method == "PATCH"]
    assert sent == ['"1"', '"0"']


def test_a_resource_that_somebody_else_changes_all_the_time_is_reported(bmc: BmcServer) -> None:
    bmc.habits.append(Rival(bmc, 9))
    with connect(bmc.context()) as machine, pytest.raises(OperationError, match="Somebody else has changed it 2 times"):
        machine.set_boot_device("pxe", persistent=False)
    assert len(bmc.bodies("PATCH")) == 2

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils._bmc import connect, redfish_service
from ansible_collections.rackwright.metal.plugins.module_utils._errors import NotOfferedError, OperationError
from ansible_collections.rackwright.metal.tests.unit.plugins.bmc_server import (
    DRIVE,
    ISO,
    Answer,
    BmcServer,
    Request,
    recorded,
    refusal,
)

INSERT, EJECT = f"POST {DRIVE}/Actions/VirtualMedia.InsertMedia", f"POST {DRIVE}/Actions/VirtualMedia.EjectMedia"


def insert(bmc: BmcServer, url: str = ISO) -> None:
    with connect(bmc.context()) as machine:
        machine.insert(url)
        assert machine.media(url).image == url


def eject(bmc: BmcServer) -> None:
    with connect(bmc.context()) as machine:
        machine.eject()
        assert machine.media().image is None


def test_an_image_is_inserted_with_nothing_but_its_url(bmc: BmcServer) -> None:
    insert(bmc)
    assert bmc.bodies("POST") == [{"Image": ISO}]
    insert(bmc)
    assert bmc.calls() == [INSERT]


@pytest.mark.parametrize("code", ["PropertyNotWritable", "PropertyUnknown"])
def test_a_bmc_that_refuses_further_fields_takes_the_image(code: str, bmc: BmcServer) -> None:
    bmc.habits.append(
        lambda request: refusal(400, code) if {"Inserted", "WriteProtected"} & request.body.keys() else None
    )
    insert(bmc)
    assert bmc.calls() == [INSERT]


def test_a_bmc_that_asks_for_the_protocol_gets_it(bmc: BmcServer) -> None:
    def habit(request: Request) -> Answer | None:
        if request.path.endswith("InsertMedia") and "TransferProtocolType" not in request.body:
            return refusal(400, "GeneralError", "TransferProtocolType is required")
        return None

    bmc.habits.append(habit)
    insert(bmc)
    assert bmc.bodies("POST")[-1] == {"Image": ISO, "TransferProtocolType": "HTTP"}


def test_another_image_is_ejected_first(bmc: BmcServer) -> None:
    insert(bmc, "http://files.example.com/other.iso")
    insert(bmc)
    assert bmc.calls() == [INSERT, EJECT, INSERT]


def test_an_insertion_right_after_a_look_does_not_look_again(bmc: BmcServer) -> None:
    with connect(bmc.context()) as machine:
        assert machine.media(ISO).image is None
        machine.insert(ISO)
        # The look, then whether the image is in.
        assert [one.path for one in bmc.log if one.method == "GET"].count(DRIVE) == 2
        machine.eject()
        assert machine.media().image is None


def test_what_was_seen_before_a_change_is_not_believed_after_it(bmc: BmcServer) -> None:
    with connect(bmc.context()) as machine:
        machine.insert(ISO)
        assert machine.media().image == ISO
        bmc.resources[DRIVE].update(Image=None, Inserted=False)
        machine.forget()
        machine.insert(ISO)
    assert bmc.calls() == [INSERT, INSERT]


def test_a_bmc_that_is_too_busy_to_insert_is_asked_again(bmc: BmcServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redfish_service, "PAUSE", 0.01)
    bmc.reset_answers(refusal(503), refusal(503))
    insert(bmc)
    assert bmc.calls() == [INSERT] * 3


def test_a_bmc_that_refuses_to_insert_what_it_holds_has_lost_an_answer(bmc: BmcServer) -> None:
    def habit(request: Request) -> Answer | None:
        if request.method != "POST":
            return None
        bmc.apply(request)
        return refusal(400, "ResourceInUse")

    bmc.habits.append(habit)
    insert(bmc)
    eject(bmc)


def test_a_drive_without_actions_is_changed_itself(bmc: BmcServer) -> None:
    def habit(request: Request) -> Answer | None:
        if request.method != "PATCH":
            return None
        if "Inserted" not in request.body:
            return refusal(400, "PropertyMissing")
        return None if set(request.body) == {"Image", "Inserted"} else refusal(400, "PropertyUnknown")

    del bmc.resources[DRIVE]["Actions"]
    bmc.habits.append(habit)
    insert(bmc)
    eject(bmc)
    eject(bmc)
    assert bmc.calls() == [f"PATCH {DRIVE}"] * 2


def test_a_drive_that_ejects_on_an_empty_image_alone_is_emptied(bmc: BmcServer) -> None:
    def habit(request: Request) -> Answer | None:
        if request.method != "PATCH":
            return None
        if request.body == {"Image": None}:
            bmc.resources[DRIVE].update(Image=None, Inserted=False)
            return Answer()
        return refusal(400, "PropertyNotWritable")

    bmc.resources[DRIVE].update(Image=ISO, Inserted=True)
    del bmc.resources[DRIVE]["Actions"]
    bmc.habits.append(habit)
    eject(bmc)
    assert bmc.calls("POST") == []


@pytest.mark.parametrize("status", [503, 204])
def test_an_eject_that_does_nothing_is_repeated_and_read_back(status: int, bmc: BmcServer) -> None:
    bmc.resources[DRIVE].update(Image=ISO, Inserted=True)
    bmc.reset_answers(Answer(status))
    eject(bmc)
    assert bmc.calls() == [EJECT] * 2


def test_an_image_that_never_comes_out_is_an_error(bmc: BmcServer) -> None:
    bmc.resources[DRIVE].update(Image=ISO, Inserted=True)
    bmc.habits.append(lambda request: Answer(204) if request.path.endswith("EjectMedia") else None)
    with connect(bmc.context()) as machine, pytest.raises(OperationError, match="accepted it 3 times"):
        machine.eject()


def test_an_image_that_never_gets_in_is_an_error_that_speaks_of_the_url(bmc: BmcServer) -> None:
    bmc.habits.append(lambda request: Answer(202) if request.path.endswith("InsertMedia") else None)
    with (
        connect(bmc.context()) as machine,
        pytest.raises(OperationError, match="Check that the BMC can reach that URL"),
    ):
        machine.insert(ISO)


def test_a_bmc_that_shows_only_the_file_name_is_understood(bmc: BmcServer) -> None:
    bmc.resources[DRIVE].update(Image="4711.iso", Inserted=True)
    insert(bmc)
    assert bmc.calls() == []


def test_a_bmc_without_a_drive_is_named_as_the_cause(bmc: BmcServer) -> None:
    bmc.resources["/redfish/v1/Managers/1/VirtualMedia"]["Members"] = []
    with connect(bmc.context()) as machine, pytest.raises(OperationError, match="The BMC has none"):
        machine.insert(ISO)


@pytest.mark.parametrize(
    "name",
    [
        "dell-r750-idrac9-6.00.30",
        "gigabyte-h262z63-megarac-12.84",
        "hpe-dl360gen10plus-ilo5-3.11",
        "hpe-dl360gen12-ilo7-1.14",
        "lenovo-sr670v2-xcc-2.83",
        "supermicro-sys821ge-x13-01.01.01",
        "huawei-2288hv5-ibmc-3.12",
    ],
)
def test_every_recorded_machine_takes_an_image_and_gives_it_back(name: str, bmc: BmcServer) -> None:
    bmc.resources = recorded(name)
    floppy = [path for path, one in bmc.resources.items() if one.get("Inserted")]
    insert(bmc)
    assert len([path for path, one in bmc.resources.items() if one.get("Image") == ISO]) == 1
    eject(bmc)
    assert [path for path, one in bmc.resources.items() if one.get("Inserted")] == floppy


@pytest.mark.parametrize(
    ("name", "device", "drive"),
    [
        ("dell-r750-idrac9-6.00.30", "disk", "1"),
        ("hpe-dl360gen12-ilo7-1.14", "floppy", "1"),
        ("lenovo-sr670v2-xcc-2.83", "disk", "EXT1"),
        ("supermicro-sys821ge-x13-01.01.01", "floppy", "VirtualMedia1"),
    ],
)
def test_an_image_goes_into_a_drive_of_the_wanted_kind(name: str, device: str, drive: str, bmc: BmcServer) -> None:
    bmc.resources = recorded(name)
    with connect(bmc.context()) as machine:
        machine.insert(ISO, devices=[device])
        (full,) = [each for each in machine.drives() if each.inserted]
        assert (full.name, full.image, device in full.device_types) == (drive, ISO, True)
        machine.eject(devices=[device])
        assert not any(each.inserted for each in machine.drives())


def test_a_kind_of_drive_that_is_not_there_is_refused(bmc: BmcServer) -> None:
    with connect(bmc.context()) as machine, pytest.raises(NotOfferedError, match="of the kind floppy"):
        machine.insert(ISO, devices=["floppy"])

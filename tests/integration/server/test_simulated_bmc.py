# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""BMCs of simulated machines: real clients talk to them, and they have the habits of BMCs in the field."""

from __future__ import annotations

import time

import httpx
import pytest
import sushy
from sushy import auth

from tests.integration.server.bmc_house import ISO, bmc, http
from tests.integration.server.daemon_house import until
from tests.integration.server.simulated_house import Data, Rack


@pytest.fixture
def machine(rack: Rack) -> Data:
    return rack.machines[0]


def test_sushy_drives_a_machine(rack: Rack, machine: Data) -> None:
    login = auth.SessionAuth(rack.facts["username"], rack.facts["password"])
    root = sushy.Sushy(machine["redfish"], auth=login)
    system = root.get_system(machine["system"])
    drive = system.managers[0].virtual_media.get_members()[0]
    drive.insert_media(ISO)
    system.set_system_boot_options(
        target=sushy.BOOT_SOURCE_TARGET_CD, enabled=sushy.BOOT_SOURCE_ENABLED_ONCE, mode=sushy.BOOT_SOURCE_MODE_UEFI
    )
    system.reset_system(sushy.RESET_ON)
    until(lambda: root.get_system(machine["system"]).power_state == sushy.PowerState.ON, 5, "power")
    drive.refresh(force=True)
    assert (drive.image, drive.inserted) == (ISO, True)
    until(lambda: root.get_system(machine["system"]).boot.enabled.value != "Once", 5, "the end of the override")
    system.reset_system(sushy.RESET_FORCE_OFF)
    until(lambda: root.get_system(machine["system"]).power_state == sushy.PowerState.OFF, 5, "power off")
    drive.eject_media()
    drive.refresh(force=True)
    assert not drive.inserted
    login.close()


def test_our_modules_leave_no_session_behind(rack: Rack, machine: Data) -> None:
    before = rack.sessions()
    with bmc(rack) as it:
        assert it.power_state() == "off"
        assert it.macs() == [machine["mac"]]
        assert it.facts().manufacturer == "Rackwright"
        assert rack.sessions() == before + 1
    assert rack.sessions() == before


def test_a_change_with_an_old_etag_is_refused(rack: Rack, machine: Data) -> None:
    body = {"Boot": {"BootSourceOverrideTarget": "Pxe", "BootSourceOverrideEnabled": "Once"}}
    with http(rack) as client:
        etag = client.get(machine["system"]).headers["ETag"]
        assert client.patch(machine["system"], json=body, headers={"If-Match": etag}).status_code == 204
        assert client.patch(machine["system"], json=body, headers={"If-Match": etag}).status_code == 412


def test_nobody_without_login_sees_a_machine(machine: Data) -> None:
    base = machine["redfish"]
    assert httpx.get(f"{base}/redfish/v1/", trust_env=False).status_code == 200
    assert httpx.get(f"{base}{machine['system']}", trust_env=False).status_code == 401
    assert httpx.get(f"{base}{machine['system']}", auth=("admin", "wrong"), trust_env=False).status_code == 401


def test_a_session_that_expired_is_opened_anew(rack: Rack) -> None:
    with bmc(rack) as it:
        assert it.power_state() == "off"
        rack.faults({"fault": "session-expired", "times": 1})
        it.forget()
        assert it.power_state() == "off"
    assert [entry["fault"] for entry in rack.happened("fault")][-1] == "session-expired"


@pytest.mark.parametrize("fault", ["connection-reset", "answer-lost", "answer-cut"])
def test_a_connection_breaks_off(rack: Rack, machine: Data, fault: str) -> None:
    rack.faults({"fault": fault, "times": 1})
    with http(rack) as client:
        with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
            client.post(f"{machine['system']}/Actions/ComputerSystem.Reset", json={"ResetType": "Nmi"})
        assert client.get(machine["system"]).status_code == 200
    asked = [entry["what"] for entry in rack.history()[-4:]]
    assert ("reset" in asked) == (fault != "connection-reset")


def test_a_bmc_may_never_answer(rack: Rack, machine: Data) -> None:
    rack.faults({"fault": "dead-bmcs-starve-workers"})
    with http(rack) as client, pytest.raises(httpx.ReadTimeout):
        client.get(machine["system"], timeout=0.3)


def test_power_that_goes_late_is_waited_for(rack: Rack) -> None:
    with bmc(rack) as it:
        it.set_power_state("on", 10)
        rack.faults({"fault": "vmedia-ejected-under-running-ramdisk", "seconds": 1})
        began = time.monotonic()
        it.set_power_state("off", 10)
        assert time.monotonic() - began >= 1
        assert rack.machine()["power"] == "Off"


def test_a_medium_that_stays_is_asked_for_again(rack: Rack, machine: Data) -> None:
    with bmc(rack) as it:
        it.insert(ISO)
        rack.faults({"fault": "media-stays", "times": 1})
        with http(rack) as client:
            eject = "/VirtualMedia/Cd/Actions/VirtualMedia.EjectMedia"
            path = f"{machine['system'].replace('Systems', 'Managers')}{eject}"
            assert client.post(path, json={}).status_code == 204
        assert it.media().image == ISO
        it.eject()
        assert it.media().image is None


def test_an_update_takes_power_and_bmc_away(rack: Rack, machine: Data) -> None:
    rack.faults({"fault": "power-poll-fights-firmware", "seconds": 0.5})
    body = {"ImageURI": "http://127.0.0.1:9/bmc-2.0.bin"}
    with http(rack) as client:
        path = "/redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate"
        assert client.post(path, json=body).status_code == 202
        with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
            client.get(machine["system"])
        until(lambda: rack.machine()["firmware"] == "2.0", 5, "the new version")
        assert client.get(machine["system"]).json()["BiosVersion"] == "2.0"


def test_the_task_of_an_update_is_seldom_there(rack: Rack) -> None:
    rack.faults({"fault": "firmware-task-vanishes-or-starts-as-new", "seconds": 0.3})
    body = {"ImageURI": "http://127.0.0.1:9/bmc-3.0.bin"}
    with http(rack) as client:
        answer = client.post("/redfish/v1/UpdateService/Actions/UpdateService.SimpleUpdate", json=body)
        task = answer.headers["Location"]
        assert client.get(task).status_code == 404
        until(lambda: client.get(task).status_code == 200, 5, "the task")
        assert client.get(task).json()["TaskState"] == "New"
        until(lambda: client.get(task).status_code == 404, 5, "the end of the task")
    assert rack.machine()["firmware"] == "3.0"


def test_impossible_bios_values_are_taken_and_never_true(rack: Rack, machine: Data) -> None:
    rack.faults({"fault": "bios-types-and-bad-values"})
    settings = f"{machine['system']}/Bios/Settings"
    with http(rack) as client:
        assert client.patch(settings, json={"Attributes": {"Cores": "8"}}).status_code == 400
        assert client.patch(settings, json={"Attributes": {"Cores": 8, "Mode": "C"}}).status_code == 204
        client.post(f"{machine['system']}/Actions/ComputerSystem.Reset", json={"ResetType": "On"})
        bios = f"{machine['system']}/Bios"
        until(lambda: client.get(bios).json()["Attributes"]["Cores"] == 8, 5, "the boot")
        assert client.get(bios).json()["Attributes"]["Mode"] == "A"


def test_faults_that_do_not_exist_are_refused(rack: Rack) -> None:
    answer = rack.client.put("/faults", json={"faults": [{"fault": "no-such"}]})
    assert answer.status_code == 400
    assert "There is no fault 'no-such'" in answer.json()["error"]

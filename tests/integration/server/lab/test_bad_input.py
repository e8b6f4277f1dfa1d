# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong outside the daemon ends in the right state, with a text that leads on, and nothing stays blocked."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.server.daemon_house import until
from tests.integration.server.lab import faults
from tests.integration.server.lab.conftest import NUMBER
from tests.integration.server.lab.faults import Case
from tests.integration.server.lab.image_server import ImageServer
from tests.integration.server.lab.lab_daemon import DRIVE, LabDaemon
from tests.integration.server.lab.light_rack import LightRack, Machine
from tests.integration.server.lab.relay import Relay

UNREACHED = ("wrong-sum-of-file", "raw-that-is-qcow2", "file-of-others", "no-image")
"""Faults that are found before the machine is touched."""


@pytest.fixture(scope="module")
def cases(rack: LightRack, daemon: LabDaemon, images: Path, image_server: ImageServer) -> Iterator[dict[str, Case]]:
    """Return the cases of all faults of deployments after they have run."""
    machines = rack.machines[1:5]
    for machine in machines:
        machine.reset()
    yield faults.run_all(daemon, machines, faults.deploy_faults(images, image_server))
    for machine in machines:
        daemon.release(machine)


@pytest.fixture
def unbooted(daemon: LabDaemon, machine: Machine) -> str:
    """Return a node in enroll."""
    return daemon.enroll(machine)


def failed_to_verify(daemon: LabDaemon, uuid: str, *words: str) -> None:
    """See that a node could not be verified, and why."""
    daemon.ask(uuid, "manage")
    node = daemon.rest(uuid)
    assert node["provision_state"] == "enroll"
    assert node["reservation"] is None
    for word in ("Step power.read_power_state failed", *words):
        assert word in node["last_error"]


def test_a_wrong_address_of_the_bmc(daemon: LabDaemon, unbooted: str) -> None:
    right = daemon.node(unbooted)["driver_info"]["redfish_address"]
    wrong = f"http://{daemon.rack.host}:1"
    daemon.change(unbooted, **{"driver_info/redfish_address": wrong})
    failed_to_verify(daemon, unbooted, wrong, "cannot be reached", "Check its address")
    daemon.change(unbooted, **{"driver_info/redfish_address": right})
    assert daemon.go(unbooted, "manage", "manageable")["last_error"] is None


def test_a_wrong_password(daemon: LabDaemon, unbooted: str) -> None:
    daemon.change(unbooted, **{"driver_info/redfish_password": "guessed-wrong"})
    failed_to_verify(daemon, unbooted, "HTTP 401", "Correct user name and password")
    assert "guessed-wrong" not in daemon.node(unbooted)["last_error"]
    daemon.change(unbooted, **{"driver_info/redfish_password": daemon.rack.facts["password"]})
    assert daemon.go(unbooted, "manage", "manageable")["last_error"] is None


def test_a_certificate_that_nobody_trusts(daemon: LabDaemon, tmp_path: Path) -> None:
    other = LightRack(tmp_path / "rack", name=f"tls{NUMBER}", network=f"172.26.{NUMBER}.0/24", machines=1, tls=True)
    try:
        info = {"redfish_address": other.redfish}
        uuid = daemon.enroll(other.machines[0], info=info, address="02:00:00:00:00:01", name="untrusted")
        failed_to_verify(daemon, uuid, "certificate is not trusted", "Set verify_ca")
        daemon.change(uuid, **{"driver_info/redfish_verify_ca": other.facts["certificate"]})
        daemon.go(uuid, "manage", "manageable")
        daemon.remove(uuid)
    finally:
        other.stop()


def test_a_bmc_that_is_out_of_order_for_a_while(daemon: LabDaemon, machine: Machine, bmc: Relay) -> None:
    refused: list[str] = []

    def refuse(call: object) -> int | None:
        refused.append(str(call))
        return 503 if len(refused) <= 3 else None

    bmc.refuse = refuse
    uuid = daemon.enroll(machine, info={"redfish_address": bmc.url})
    assert daemon.go(uuid, "manage", "manageable")["last_error"] is None
    assert len(refused) > 3


@pytest.mark.parametrize("name", faults.NAMES)
def test_a_deployment_fails_and_says_why(cases: dict[str, Case], name: str) -> None:
    case = cases[name]
    assert case.node["provision_state"] == "deploy failed"
    assert case.node["target_provision_state"] == "active"
    assert case.node["deploy_step"] == {}
    for word in case.fault.words:
        assert word in case.node["last_error"]


def test_what_is_wrong_with_an_image_is_seen_before_the_machine_is_touched(cases: dict[str, Case]) -> None:
    machines = {case.machine.name: case.machine for case in cases.values() if not case.fault.boots}
    assert [machine.boots() for machine in machines.values()] == [0]


def test_a_machine_whose_deployment_failed_is_off_and_its_drive_empty(cases: dict[str, Case]) -> None:
    for case in cases.values():
        assert not case.machine.is_on()
        assert case.machine.medium() is None


def test_opaque_keyerror(cases: dict[str, Case]) -> None:
    for name, case in cases.items():
        text = case.node["last_error"]
        assert not re.search(r"KeyError|NoneType|Traceback|Exception\b", text), name
        told = re.fullmatch(r"Step (\S+) failed: (.+?[.]) ([A-Z].+[.])", text, re.DOTALL)
        assert told, text
        step, cause, action = told.groups()
        assert step and cause.startswith("could not ") and len(action.split()) > 2, name
    shown = {case.uuid: case.node["last_error"] for case in cases.values()}
    assert len(set(shown.values())) == len(cases), "each says what is its own"


def test_a_node_whose_image_was_wrong_is_deployed_with_the_right_one(
    cases: dict[str, Case], daemon: LabDaemon, image_server: ImageServer
) -> None:
    case = cases["wrong-sum-of-url"]
    daemon.change(case.uuid, instance_info=image_server.image("lab-os.raw"))
    node = daemon.go(case.uuid, "active", "active", configdrive=DRIVE)
    assert node["last_error"] is None
    assert f"instance={case.uuid}" in str(until(case.machine.ready, 20, "the deployed system"))


def test_a_node_whose_deployment_failed_becomes_available(cases: dict[str, Case], daemon: LabDaemon) -> None:
    node = daemon.go(cases["no-such-disk"].uuid, "deleted", "available")
    assert (node["last_error"], node["instance_info"]) == (None, {})


def test_a_verb_that_the_state_does_not_know(daemon: LabDaemon, unbooted: str) -> None:
    for verb, word in (("active", "enroll"), ("frobnicate", "frobnicate")):
        answer = daemon.client.put(f"/v1/nodes/{unbooted}/states/provision", json={"target": verb})
        assert answer.status_code == 400
        assert word in answer.text
    assert daemon.node(unbooted)["provision_state"] == "enroll"


def test_a_node_that_another_operation_holds(daemon: LabDaemon, machine: Machine, bmc: Relay) -> None:
    gate = threading.Event()
    bmc.refuse = lambda _: None if gate.wait(60) else 503
    uuid = daemon.enroll(machine, info={"redfish_address": bmc.url})
    daemon.ask(uuid, "manage")
    for path, body in (("provision", {"target": "manage"}), ("power", {"target": "power on"})):
        answer = daemon.client.put(f"/v1/nodes/{uuid}/states/{path}", json=body)
        assert answer.status_code == 409
        assert daemon.node(uuid)["reservation"] in answer.text
    assert daemon.client.delete(f"/v1/nodes/{uuid}").status_code == 409
    gate.set()
    node = daemon.rest(uuid)
    assert (node["provision_state"], node["last_error"]) == ("manageable", None)
    assert not machine.is_on()


def test_a_lookup_of_a_machine_that_nobody_knows(daemon: LabDaemon) -> None:
    answer = daemon.client.get("/v1/lookup?addresses=02:00:00:00:00:99")
    assert answer.status_code == 404
    assert "token" not in answer.text


def test_hostile_texts_stay_texts(
    daemon: LabDaemon, machine: Machine, image_server: ImageServer, tmp_path: Path
) -> None:
    template, shell = tmp_path / "x", tmp_path / "y"
    evil = f"{{{{ lookup('pipe', 'touch {template}') }}}}'; touch {shell}; '$(touch {shell})`touch {shell}`"
    refused = daemon.client.post("/v1/nodes", json={"driver": "redfish", "name": evil})
    assert refused.status_code == 400
    texts = {"evil": evil, evil: evil, "nested": [{"evil": evil}]}
    uuid = daemon.enroll(
        machine,
        properties={"capabilities": "boot_mode:uefi", **texts},
        extra=texts,
        description=evil,
        owner=evil[:60],
        instance_info={**image_server.image("lab-os.raw"), **texts},
        automated_clean=False,
    )
    daemon.go(uuid, "manage", "manageable")
    daemon.go(uuid, "inspect", "manageable")
    daemon.go(uuid, "provide", "available")
    drive = {"meta_data": {"hostname": evil, **texts}, "user_data": evil}
    node = daemon.go(uuid, "active", "active", configdrive=drive)
    assert node["extra"] == texts
    assert node["instance_info"]["evil"] == evil
    until(lambda: f"LAB-OS READY hostname={evil} instance={uuid}" in machine.said(), 20, "the deployed system")
    assert list(tmp_path.iterdir()) == []


def test_kernel_parameters_that_would_leave_their_line(daemon: LabDaemon, machine: Machine, tmp_path: Path) -> None:
    evil = f"quiet'; touch {tmp_path / 'z'} \n menuentry"
    uuid = daemon.enroll(machine, info={"kernel_append_params": evil})
    daemon.go(uuid, "manage", "manageable")
    daemon.ask(uuid, "inspect")
    node = daemon.rest(uuid)
    assert node["provision_state"] == "inspect failed"
    for word in ("boot.boot_ramdisk", "kernel_append_params", "Correct it"):
        assert word in node["last_error"]
    assert list(tmp_path.iterdir()) == []

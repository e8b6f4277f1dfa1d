# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Agents that never call, die or lie: every wait ends, and what they leave behind is cleared away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from tests.integration.server.daemon_house import until
from tests.integration.server.lab.image_server import ImageServer
from tests.integration.server.lab.lab_daemon import DRIVE, QUICK, LabDaemon
from tests.integration.server.lab.light_rack import LightRack, Machine

LIMIT = 20
"""Seconds that this daemon waits for an agent."""

DEAF = "ipa-api-url=http://127.0.0.1:9 ipa-inspection-callback-url=http://127.0.0.1:9"
"""Kernel parameters with which an agent calls nobody."""

OPTIONS = {"inspect": "inspect_wait_timeout", "clean": "clean_callback_timeout", "deploy": "deploy_callback_timeout"}
VERBS = {"inspect": "inspect", "clean": "provide", "deploy": "active"}
HEARTBEAT = {"callback_url": "https://192.0.2.1:9999", "agent_version": "13.0.0"}


@dataclass
class Silent:
    """A node whose agent does not call."""

    machine: Machine
    uuid: str


@pytest.fixture(scope="module")
def strict(rack: LightRack, images: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabDaemon]:
    """Return a daemon that waits for nobody for long."""
    limits = {**dict.fromkeys(OPTIONS.values(), LIMIT), "boot_retries": 0}
    made = LabDaemon(tmp_path_factory.mktemp("strict"), rack, images, ramdisk_heartbeat_timeout=LIMIT, **limits)
    try:
        yield made
    finally:
        made.end()


@pytest.fixture(scope="module")
def patient(strict: LabDaemon) -> str:
    """Return a node of fake hardware in a step that takes longer than the limit."""
    body = {"driver": "fake-hardware", "driver_info": {"fake_power_delay": str(LIMIT + 2)}}
    uuid = str(strict.done("POST", "/v1/nodes", body)["uuid"])
    strict.ask(uuid, "manage")
    return uuid


@pytest.fixture(scope="module")
def silent(strict: LabDaemon, patient: str, rack: LightRack, image_server: ImageServer) -> dict[str, Silent]:
    """Return a node for each phase, in which it waits for an agent that never calls."""
    assert strict.node(patient)["provision_state"] == "verifying"
    found = {}
    for phase, machine in zip(VERBS, rack.machines[:3], strict=True):
        machine.reset()
        uuid = strict.enroll(
            machine,
            info={"kernel_append_params": DEAF},
            instance_info=image_server.image("lab-os.raw"),
            automated_clean=phase == "clean",
        )
        found[phase] = Silent(machine, uuid)
    for verb, phases in (("manage", VERBS), ("provide", ["deploy"])):
        for phase in phases:
            strict.ask(found[phase].uuid, verb)
        for phase in phases:
            strict.rest(found[phase].uuid)
    for phase, verb in VERBS.items():
        strict.ask(found[phase].uuid, verb)
    return found


@pytest.fixture(scope="module")
def writing(
    strict: LabDaemon, silent: dict[str, Silent], rack: LightRack, image_server: ImageServer
) -> Iterator[Silent]:
    """Return a node whose agent is in the middle of writing an image, while others are waited for."""
    assert len(silent) == len(VERBS)
    machine = rack.machines[3]
    machine.reset()
    uuid = strict.enroll(machine, instance_info=image_server.image("lab-os.raw"), automated_clean=False)
    strict.go(uuid, "manage", "manageable")
    strict.go(uuid, "provide", "available")
    image_server.stop_in_the_middle()
    strict.ask(uuid, "active", configdrive=DRIVE)
    until(image_server.stopped.is_set, 60, "the middle of the image")
    strict.in_state(uuid, "wait call-back")
    yield Silent(machine, uuid)
    image_server.go_on()


@pytest.mark.parametrize("token", ["guessed", "", None])
def test_a_heartbeat_without_the_right_token_changes_nothing(
    writing: Silent, strict: LabDaemon, token: str | None
) -> None:
    before = strict.node(writing.uuid)["driver_internal_info"]["agent_url"]
    body = {**HEARTBEAT, **({} if token is None else {"agent_token": token})}
    answer = strict.client.post(f"/v1/heartbeat/{writing.uuid}", json=body)
    assert answer.status_code == 400
    assert "token" in answer.text
    node = strict.node(writing.uuid)
    assert node["driver_internal_info"]["agent_url"] == before
    assert node["provision_state"] == "wait call-back"


def test_a_second_lookup_gives_no_token_away(writing: Silent, strict: LabDaemon) -> None:
    found = strict.done("GET", f"/v1/lookup?addresses={writing.machine.mac}")
    assert found["node"]["uuid"] == writing.uuid
    assert found["config"]["agent_token"] == "******"


def test_an_agent_that_dies_in_the_middle_of_a_step(
    writing: Silent, strict: LabDaemon, image_server: ImageServer
) -> None:
    writing.machine.kill_agent()
    node = strict.rest(writing.uuid)
    assert node["provision_state"] == "deploy failed"
    for word in ("deploy.write_image", "deploy_callback_timeout", f"{LIMIT} seconds", "Check"):
        assert word in node["last_error"]
    assert not writing.machine.is_on()
    assert writing.machine.medium() is None
    image_server.go_on()
    assert strict.go(writing.uuid, "deleted", "available")["last_error"] is None


@pytest.mark.parametrize("phase", list(VERBS))
def test_wait_state_without_deadline(silent: dict[str, Silent], strict: LabDaemon, phase: str) -> None:
    node, machine = strict.rest(silent[phase].uuid), silent[phase].machine
    assert node["provision_state"] == f"{phase} failed"
    for word in (phase, OPTIONS[phase], f"{LIMIT} seconds", "Check", "console"):
        assert word in node["last_error"]
    assert machine.boots() == 1
    assert not machine.is_on()
    assert machine.medium() is None
    assert (node["reservation"], node["maintenance"]) == (None, False)


def test_a_step_without_agent_may_last_longer_than_an_agent_may_be_silent(strict: LabDaemon, patient: str) -> None:
    node = strict.rest(patient)
    assert (node["provision_state"], node["last_error"]) == ("manageable", None)
    created, verified = (datetime.fromisoformat(node[name]) for name in ("created_at", "provision_updated_at"))
    assert verified - created > timedelta(seconds=LIMIT)


def test_a_machine_that_never_booted_the_agent_becomes_available(silent: dict[str, Silent], strict: LabDaemon) -> None:
    for phase, verb in (("clean", "manage"), ("deploy", "deleted")):
        strict.change(silent[phase].uuid, **{"driver_info/kernel_append_params": QUICK, "automated_clean": True})
        strict.ask(silent[phase].uuid, verb)
    for phase in ("clean", "deploy"):
        strict.rest(silent[phase].uuid)
    strict.ask(silent["clean"].uuid, "provide")
    for phase in ("clean", "deploy"):
        node = strict.rest(silent[phase].uuid)
        assert (node["provision_state"], node["last_error"]) == ("available", None)

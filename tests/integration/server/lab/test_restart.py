# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A daemon that is killed at the worst moments goes on where it was, and nothing is done twice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.server.daemon_house import until
from tests.integration.server.lab.image_server import ImageServer
from tests.integration.server.lab.lab_daemon import DRIVE, LabDaemon
from tests.integration.server.lab.light_rack import LightRack, Machine

ERASED = "Asynchronous command execute_clean_step started execution"
WRITTEN = "Asynchronous command execute_deploy_step started execution"


@pytest.fixture(scope="module")
def victim(rack: LightRack, images: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabDaemon]:
    """Return a daemon that may be killed."""
    made = LabDaemon(tmp_path_factory.mktemp("victim"), rack, images)
    try:
        yield made
    finally:
        made.end()


@pytest.fixture
def patient(request: pytest.FixtureRequest, rack: LightRack) -> Machine:
    """Return a machine as new."""
    found = rack.machines[request.param]
    found.reset()
    return found


def kill_the_daemon(victim: LabDaemon) -> None:
    victim.kill_all()
    victim.start()


def kill_the_conductor(victim: LabDaemon) -> None:
    before = victim.child("conductor")
    victim.kill("conductor")
    until(lambda: victim.child("conductor") not in (None, before), 30, "another conductor")


def booting(victim: LabDaemon, uuid: str) -> bool:
    return bool(victim.node(uuid)["provision_state"] == "clean wait")


def erasing(victim: LabDaemon, uuid: str) -> bool:
    return bool(victim.node(uuid)["clean_step"].get("step") == "erase_devices_metadata")


Kill = Callable[[LabDaemon], None]
Moment = Callable[[LabDaemon, str], bool]


@pytest.mark.parametrize(
    ("patient", "kill", "moment"),
    [
        pytest.param(1, kill_the_daemon, booting, id="the daemon while the machine boots, and in the image"),
        pytest.param(2, kill_the_conductor, erasing, id="the conductor while disks are erased, and in the image"),
    ],
    indirect=["patient"],
)
def test_a_node_goes_on_after_the_death_of(
    victim: LabDaemon, patient: Machine, image_server: ImageServer, kill: Kill, moment: Moment
) -> None:
    uuid = victim.enroll(patient)
    victim.go(uuid, "manage", "manageable")
    victim.ask(uuid, "provide")
    until(lambda: moment(victim, uuid), 60, "the moment")
    kill(victim)
    node = victim.rest(uuid)
    assert (node["provision_state"], node["last_error"]) == ("available", None)
    assert patient.boots() == 1
    assert patient.said().count(ERASED) == 1
    assert (patient.is_on(), patient.medium()) == (False, None)

    victim.change(uuid, instance_info=image_server.image("lab-os.raw"))
    image_server.stop_in_the_middle()
    victim.ask(uuid, "active", configdrive=DRIVE)
    until(image_server.stopped.is_set, 90, "the middle of the image")
    kill(victim)
    image_server.go_on()
    node = victim.rest(uuid)
    assert (node["provision_state"], node["last_error"]) == ("active", None)
    assert [fetch.sent for fetch in image_server.whole(patient.address)] == [
        (image_server.folder / "lab-os.raw").stat().st_size
    ]
    assert patient.said().count(WRITTEN) == 1
    assert f"instance={uuid}" in str(until(patient.ready, 20, "the deployed system"))
    assert list((victim.state / "http" / "boot").iterdir()) == []

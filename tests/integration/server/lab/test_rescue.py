# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A machine in use is serviced, rescued and given back, with the real agent."""

from __future__ import annotations

import pytest
from oslo_utils import secretutils

from tests.integration.server.daemon_house import until
from tests.integration.server.lab.image_server import ImageServer
from tests.integration.server.lab.lab_daemon import DRIVE, LabDaemon
from tests.integration.server.lab.light_rack import LightRack, Machine

PASSWORD = "canary of the rescue"
NOTHING_TO_INJECT = {"interface": "deploy", "step": "inject_files", "args": {"files": []}}
REBOOT = {"interface": "power", "step": "reboot"}
_SERVED = "Asynchronous command execute_service_step started execution"


@pytest.fixture
def used(daemon: LabDaemon, machine: Machine, image_server: ImageServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the node of a machine that runs an instance."""
    monkeypatch.setitem(daemon.client.headers, "X-OpenStack-Ironic-API-Version", "1.109")
    rescue = {f"rescue_{part}": f"file://{daemon.allowed / part}" for part in ("kernel", "ramdisk")}
    info = image_server.image("lab-os.raw")
    uuid = daemon.enroll(machine, info=rescue, rescue_interface="agent", automated_clean=False, instance_info=info)
    for target, state in (("manage", "manageable"), ("provide", "available")):
        daemon.go(uuid, target, state)
    daemon.go(uuid, "active", "active", configdrive=DRIVE)
    started_again(machine, 1)
    return uuid


def started_again(machine: Machine, times: int) -> None:
    """Wait until the instance has started so often."""
    until(lambda: machine.said().count("LAB-OS READY") == times, 20, f"start number {times} of the instance")


def test_an_instance_is_serviced_rescued_and_given_back(
    rack: LightRack, daemon: LabDaemon, machine: Machine, used: str
) -> None:
    boots = machine.boots()
    daemon.go(used, "service", "active", service_steps=[NOTHING_TO_INJECT, REBOOT, NOTHING_TO_INJECT])
    started_again(machine, 2)
    assert machine.boots() == boots + 3, "into the agent, into the agent again, into the instance"
    assert machine.said().count(_SERVED) == 2
    assert machine.medium() is None

    node = daemon.go(used, "rescue", "rescue", rescue_password=PASSWORD)
    assert "rescue_password" not in str(node["instance_info"])
    until(lambda: "The agent ended." in machine.said(), 20, "the end of the agent")
    assert machine.is_on()
    written = rack.folder / f"{machine.name}.scratch/etc/ipa-rescue-config/ipa-rescue-password"
    hashed = written.read_text()
    assert hashed == secretutils.crypt_password(PASSWORD, hashed)
    assert list((daemon.state / "http" / "boot").iterdir()) == [], "the image of the ramdisk is not offered any more"

    node = daemon.go(used, "unrescue", "active")
    started_again(machine, 3)
    assert (node["power_state"], node["last_error"], machine.medium()) == ("power on", None, None)
    assert PASSWORD not in machine.said() + daemon.log.read_text()

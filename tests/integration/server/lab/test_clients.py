# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The clients of Ironic, unmodified, take a machine through its whole life."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.server.lab.lab_daemon import HOSTNAME, LabDaemon
from tests.integration.server.lab.light_rack import LightRack, Machine

SDK = Path(__file__).with_name("sdk_life.py")


def environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith("OS_")}


def run(*command: str | Path) -> str:
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def image(daemon: LabDaemon) -> dict[str, str]:
    folder = f"file://{daemon.allowed}"
    return {"image_source": f"{folder}/lab-os.raw", "image_checksum": f"{folder}/CHECKSUMS"}


class Baremetal:
    """The command ``baremetal``."""

    def __init__(self, url: str) -> None:
        self._start = [str(Path(sys.executable).parent / "baremetal"), "--os-auth-type", "none", "--os-endpoint", url]

    def say(self, *words: str) -> str:
        """Run a command of it."""
        return run(*self._start, *words)

    def ask(self, *words: str) -> Any:
        """Run a command that shows something; return that."""
        return json.loads(self.say(*words, "--format", "json"))


def options(name: str, values: dict[str, Any]) -> list[str]:
    return [word for key, value in values.items() for word in (name, f"{key}={value}")]


@pytest.fixture(scope="module")
def sdk(daemon: LabDaemon, rack: LightRack) -> Iterator[subprocess.Popen[str]]:
    """Return the SDK at work with a machine of its own; it mostly waits, so the other client works meanwhile."""
    machine = rack.machines[1]
    machine.reset()
    node = {
        "driver": "redfish",
        "name": "by-sdk",
        "driver_info": daemon.driver_info(machine),
        "properties": {"capabilities": "boot_mode:uefi"},
    }
    given = {"url": daemon.url, "node": node, "mac": machine.mac, "instance_info": image(daemon), "hostname": HOSTNAME}
    command = [sys.executable, str(SDK), json.dumps(given)]
    with subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()
    daemon.release(machine)


def test_the_baremetal_command_takes_a_machine_through_its_life(
    daemon: LabDaemon, machine: Machine, sdk: subprocess.Popen[str], tmp_path: Path
) -> None:
    assert sdk.poll() is None
    cli = Baremetal(daemon.url)
    info = options("--driver-info", daemon.driver_info(machine))
    made = cli.ask("node", "create", "--driver", "redfish", "--name", "by-cli", *info)
    uuid = made["uuid"]
    cli.say("port", "create", machine.mac, "--node", uuid)
    cli.say("node", "manage", "by-cli", "--wait", "100")
    cli.say("node", "inspect", "by-cli", "--wait", "100")
    cli.say("node", "inventory", "save", "by-cli", "--file", str(tmp_path / "inventory"))
    saved = json.loads((tmp_path / "inventory").read_text())
    assert machine.mac in json.dumps(saved["inventory"]["interfaces"])
    cli.say("node", "provide", "by-cli", "--wait", "100")
    cli.say("node", "set", "by-cli", *options("--instance-info", image(daemon)))
    drive = json.dumps({"meta_data": {"hostname": HOSTNAME}})
    cli.say("node", "deploy", "by-cli", "--config-drive", drive, "--wait", "200")
    shown = cli.ask("node", "show", "by-cli")
    assert (shown["provision_state"], shown["power_state"], shown["last_error"]) == ("active", "power on", None)
    assert shown["driver_info"]["redfish_password"] == "******"
    assert str(machine.ready()).startswith(f"LAB-OS READY hostname={HOSTNAME} instance={uuid}")
    events = cli.ask("node", "history", "list", "by-cli", "--long")
    assert {"deployment_start", "deployment_end"} <= {event["event_type"] for event in events}
    cli.say("node", "undeploy", "by-cli", "--wait", "200")
    assert not machine.has_partitions()
    cli.say("node", "delete", "by-cli")
    assert uuid not in {node["UUID"] for node in cli.ask("node", "list")}


def test_openstacksdk_takes_a_machine_through_its_life(sdk: subprocess.Popen[str], rack: LightRack) -> None:
    machine = rack.machines[1]
    out, errors = sdk.communicate(timeout=200)
    assert sdk.returncode == 0, errors
    seen = json.loads(out)
    assert seen["states"] == ["manageable", "manageable", "available", "available"]
    assert machine.mac in json.dumps(seen["inventory"]["interfaces"])
    assert all(seen["validated"][name] for name in ("boot", "deploy", "power"))
    assert seen["active"]["provision_state"] == "active"
    assert seen["active"]["instance_info"]["configdrive"] == "******"
    assert seen["found"] == seen["uuid"]
    assert seen["ports"] == [machine.mac]
    assert seen["left"] == []
    assert f"LAB-OS READY hostname={HOSTNAME} instance={seen['uuid']}" in machine.said()

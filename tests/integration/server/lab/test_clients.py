# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The clients of Ironic, unmodified, take a machine through its whole life."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.integration.server.lab.lab_daemon import HOSTNAME, LabDaemon
from tests.integration.server.lab.light_rack import Machine

SDK = Path(__file__).with_name("sdk_life.py")


def run(*command: str | Path) -> str:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("OS_")}
    done = subprocess.run(command, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def image(daemon: LabDaemon) -> dict[str, str]:
    folder = f"file://{daemon.allowed}"
    return {"image_source": f"{folder}/lab-os.raw", "image_checksum": f"{folder}/CHECKSUMS"}


class Baremetal:
    """The command ``baremetal``."""

    def __init__(self, url: str) -> None:
        self._start = [Path(sys.executable).parent / "baremetal", "--os-auth-type", "none", "--os-endpoint", url]

    def say(self, *words: str) -> str:
        """Run a command of it."""
        return run(*self._start, *words)

    def ask(self, *words: str) -> Any:
        """Run a command that shows something; return that."""
        return json.loads(self.say(*words, "--format", "json"))


def options(name: str, values: dict[str, Any]) -> list[str]:
    return [word for key, value in values.items() for word in (name, f"{key}={value}")]


def test_the_baremetal_command_takes_a_machine_through_its_life(
    daemon: LabDaemon, machine: Machine, tmp_path: Path
) -> None:
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
    assert {"deployment_start", "deployment_end"} <= {event["Event Origin Type"] for event in events}
    cli.say("node", "undeploy", "by-cli", "--wait", "200")
    assert not machine.has_partitions()
    cli.say("node", "delete", "by-cli")
    assert uuid not in {node["UUID"] for node in cli.ask("node", "list")}


def test_openstacksdk_takes_a_machine_through_its_life(daemon: LabDaemon, machine: Machine) -> None:
    node = {
        "driver": "redfish",
        "name": "by-sdk",
        "driver_info": daemon.driver_info(machine),
        "properties": {"capabilities": "boot_mode:uefi"},
    }
    given = {"url": daemon.url, "node": node, "mac": machine.mac, "instance_info": image(daemon), "hostname": HOSTNAME}
    seen = json.loads(run(sys.executable, SDK, json.dumps(given)))
    assert seen["states"] == ["manageable", "manageable", "available", "available"]
    assert machine.mac in json.dumps(seen["inventory"]["interfaces"])
    assert all(seen["validated"][name] for name in ("boot", "deploy", "power"))
    assert seen["active"]["provision_state"] == "active"
    assert seen["active"]["instance_info"]["configdrive"] == "******"
    assert seen["found"] == seen["uuid"]
    assert seen["ports"] == [machine.mac]
    assert seen["left"] == []
    assert f"LAB-OS READY hostname={HOSTNAME} instance={seen['uuid']}" in machine.said()

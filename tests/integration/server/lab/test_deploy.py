# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The playbook ``site`` from machines that nobody knows to deployed systems, and what it does after that."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.integration.server.lab.conftest import ROOT
from tests.integration.server.lab.lab_daemon import LabDaemon
from tests.integration.server.lab.light_rack import LightRack, Machine
from tests.integration.server.lab.relay import Relay

BY_VERBS = ["manage", "inspect", "provide", "active"]


class Site:
    """An inventory of two machines, and the playbook."""

    def __init__(self, folder: Path, daemon: LabDaemon, machines: Sequence[Machine]) -> None:
        self.folder, self.daemon, self.machines = folder, daemon, machines
        self.url = daemon.url
        self.variables: dict[str, Any] = {
            "node_wanted_state": "active",
            "node_instance_info": {
                "image_source": f"file://{daemon.allowed}/lab-os.raw",
                "image_checksum": f"file://{daemon.allowed}/CHECKSUMS",
                "image_disk_format": "raw",
                "image_type": "whole-disk",
            },
            "node_config_drive": {"meta_data": {"hostname": "{{ inventory_hostname }}.rack"}},
            "node_properties": {"capabilities": "boot_mode:uefi"},
            "node_timeout": 200,
        }

    def run(self, *options: str, **variables: Any) -> subprocess.CompletedProcess[str]:
        """Run the playbook with further variables."""
        hosts = {
            f"web-{machine.name}": {
                "node_ports": [machine.mac],
                "node_driver_info": self.daemon.driver_info(machine),
            }
            for machine in self.machines
        }
        shared = {**self.variables, "rackwright_api_url": self.url, **variables}
        inventory = self.folder / "inventory.json"
        inventory.write_text(json.dumps({"all": {"hosts": hosts, "vars": shared}}))
        command = [str(Path(sys.executable).parent / "ansible-playbook"), "-i", str(inventory), *options]
        return subprocess.run(
            [*command, "rackwright.metal.site"],
            env={
                **os.environ,
                "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".ansible/collections"),
                "ANSIBLE_INVENTORY_ENABLED": "yaml",
                "ANSIBLE_NOCOLOR": "1",
            },
            capture_output=True,
            text=True,
            check=False,
        )

    def nodes(self) -> dict[str, dict[str, Any]]:
        """Return the nodes by name."""
        listed = self.daemon.done("GET", "/v1/nodes/detail")["nodes"]
        return {node["name"]: node for node in listed if node["name"].startswith("web-")}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, rack: LightRack, daemon: LabDaemon) -> Iterator[Site]:
    machines = rack.machines[4:6]
    for machine in machines:
        machine.reset()
    yield Site(tmp_path_factory.mktemp("site"), daemon, machines)
    for machine in machines:
        daemon.release(machine)


def recap(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, int]]:
    """Return the last lines of a playbook: counts by host."""
    lines = done.stdout.rpartition("PLAY RECAP")[2].splitlines()
    pairs = [line.split(":", 1) for line in lines if ":" in line]
    return {
        host.strip(): {key: int(value) for key, value in (word.split("=") for word in counts.split())}
        for host, counts in pairs
    }


def test_a_dry_run_on_machines_nobody_knows_names_the_verbs_and_changes_nothing(site: Site) -> None:
    done = site.run("--check", "--diff")
    assert done.returncode == 0, done.stdout + done.stderr
    assert site.nodes() == {}
    assert not any(machine.boots() for machine in site.machines)
    for verb in BY_VERBS:
        assert verb in done.stdout
    assert "password" not in done.stdout.replace("redfish_password", "")


def test_two_machines_come_up_under_their_declared_names(site: Site) -> None:
    done = site.run()
    assert done.returncode == 0, done.stdout + done.stderr
    nodes = site.nodes()
    for machine in site.machines:
        node = nodes[f"web-{machine.name}"]
        assert node["provision_state"] == "active"
        assert node["power_state"] == "power on"
        assert node["last_error"] is None
        assert machine.medium() is None
        assert machine.has_config_drive()
        wanted = f"LAB-OS READY hostname={node['name']}.rack instance={node['uuid']}"
        assert str(machine.ready()).startswith(wanted)


def test_a_second_run_and_a_dry_run_change_nothing(site: Site) -> None:
    before = site.nodes()
    for options in ((), ("--check", "--diff")):
        done = site.run(*options)
        assert done.returncode == 0, done.stdout + done.stderr
        assert {counts["changed"] for counts in recap(done).values()} == {0}
    assert site.nodes() == before


def test_another_image_is_refused_unless_the_node_may_be_rebuilt(site: Site) -> None:
    other = {**site.variables["node_instance_info"], "image_source": f"file://{site.daemon.allowed}/lab-os.qcow2"}
    other["image_disk_format"] = "qcow2"
    refused = site.run(node_instance_info=other)
    assert refused.returncode != 0
    assert "allow_rebuild" in refused.stdout
    assert "erase a machine in use" in refused.stdout
    assert {node["provision_state"] for node in site.nodes().values()} == {"active"}
    dry = site.run("--check", "--diff", node_instance_info=other, node_allow_rebuild=True)
    assert "rebuild" in dry.stdout
    boots = [machine.boots() for machine in site.machines]
    done = site.run(node_instance_info=other, node_allow_rebuild=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(machine.boots() > before for machine, before in zip(site.machines, boots, strict=True))
    assert {node["instance_info"]["image_disk_format"] for node in site.nodes().values()} == {"qcow2"}
    assert {node["provision_state"] for node in site.nodes().values()} == {"active"}


def test_check_mode_missing_or_lying(site: Site, api: Relay) -> None:
    site.url = api.url
    drifted = {"node_properties": {"capabilities": "boot_mode:uefi", "cpus": 4}, "node_instance_info": {}}
    done = site.run("--check", "--diff", **drifted)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {call.method for call in api.calls} == {"GET"}
    foreseen = {host: counts["changed"] for host, counts in recap(done).items()}
    real = site.run(**drifted)
    assert {host: counts["changed"] for host, counts in recap(real).items()} == foreseen
    assert set(foreseen.values()) == {1}
    assert {call.method for call in api.calls} == {"GET", "PATCH"}

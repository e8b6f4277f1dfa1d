# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A simulated rack in a process of its own, and a daemon that knows its machines."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx

from rackwright_lab.simulated import history
from tests.integration.server.daemon_house import Daemon, until

Data = dict[str, Any]
QUICK = ("--boot-seconds=0.3", "--step-seconds=0.1", "--power-seconds=0.02", "--beat-seconds=0.1")
"""For tests that do not measure."""


class Rack:
    """What a test knows of the rack, and its control service."""

    def __init__(self, folder: Path, pid: int) -> None:
        self.folder, self.pid = folder, pid
        self.facts = json.loads((folder / "rack.json").read_text())
        self.machines: list[Data] = self.facts["machines"]
        self.client = httpx.Client(base_url=self.facts["control"], timeout=30, trust_env=False)

    def machine(self, name: str = "node-1") -> Data:
        """Return what a machine is now."""
        return dict(self.client.get(f"/machines/{name}").raise_for_status().json())

    def faults(self, *rules: Data) -> None:
        """Have these faults, and no others, from now on."""
        self.client.put("/faults", json={"faults": list(rules)}).raise_for_status()

    def load(self) -> Data:
        """Return how many requests the BMCs have got, and how many sessions are open."""
        return dict(self.client.get("/load").raise_for_status().json())

    def sessions(self) -> int:
        """Return how many sessions are open."""
        return int(self.load()["sessions"])

    def history(self, name: str = "node-1") -> list[Data]:
        """Return what happened to a machine."""
        return history.read(self.folder).get(name, [])

    def happened(self, what: str, name: str = "node-1") -> list[Data]:
        """Return the entries of a machine's history that tell this."""
        return [entry for entry in self.history(name) if entry["what"] == what]


@contextmanager
def running(folder: Path, machines: int, *arguments: str) -> Iterator[Rack]:
    """Run a rack."""
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "rackwright_lab", "rack", "--simulated", "--dir", str(folder)]
    with (folder / "rack.log").open("ab") as log:
        process = subprocess.Popen(
            [*command, f"--machines={machines}", *arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            stdout=log,
            stderr=log,
        )
    try:
        until((folder / "rack.json").exists, 30, f"a rack (see {folder / 'rack.log'})")
        rack = Rack(folder, process.pid)
        with closing(rack.client):
            yield rack
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0, (folder / "rack.log").read_text()


def make_files(folder: Path) -> Path:
    """Make small files that stand for kernel, ramdisk and image; return the folder."""
    folder.mkdir(parents=True)
    for name, size in (("kernel", 4096), ("ramdisk", 4096), ("esp", 4096), ("image", 65536)):
        (folder / name).write_bytes(name[:1].encode() * size)
    return folder


def node_of(machine: Data, rack: Rack, files: Path) -> Data:
    """Return the node that a client creates for a machine of a rack."""
    info = {
        "redfish_address": machine["redfish"],
        "redfish_system_id": machine["system"],
        "redfish_username": rack.facts["username"],
        "redfish_password": rack.facts["password"],
        "deploy_kernel": f"file://{files / 'kernel'}",
        "deploy_ramdisk": f"file://{files / 'ramdisk'}",
        "bootloader": f"file://{files / 'esp'}",
    }
    image = files / "image"
    return {
        "driver": "redfish",
        "name": machine["name"],
        "driver_info": info,
        "properties": {"capabilities": "boot_mode:uefi"},
        "instance_info": {
            "image_source": f"file://{image}",
            "image_os_hash_algo": "sha256",
            "image_os_hash_value": hashlib.sha256(image.read_bytes()).hexdigest(),
            "image_disk_format": "raw",
        },
    }


class Fleet(Daemon):
    """A daemon for all machines of a rack; their kernel, ramdisk and image are small files."""

    def __init__(self, folder: Path, rack: Rack, **settings: object) -> None:
        self.rack, self.files = rack, make_files(folder / "files")
        given = {
            "enabled_hardware_types": json.dumps(["redfish"]),
            "file_url_allowed_paths": json.dumps([str(self.files)]),
            "check_provision_state_interval": 1,
            **settings,
        }
        super().__init__(folder, **given)
        until(lambda: self.done("GET", "/v1/conductors")["conductors"], 60, f"a conductor (see {self.log})")

    def enroll(self, machines: Sequence[Data] | None = None) -> list[str]:
        """Create the nodes of machines, of all where none are given, and their ports; return their UUIDs."""
        chosen = self.rack.machines if machines is None else machines
        return [self._enroll(machine) for machine in chosen]

    def _enroll(self, machine: Data) -> str:
        uuid = str(self.done("POST", "/v1/nodes", self.node(machine))["uuid"])
        self.done("POST", "/v1/ports", {"node_uuid": uuid, "address": machine["mac"]})
        return uuid

    def node(self, machine: Data) -> Data:
        """Return the node that is created for a machine."""
        return node_of(machine, self.rack, self.files)

    def live(self, uuids: Sequence[str], seconds: float = 60) -> None:
        """Bring nodes from enroll to active, with inspection and cleaning."""
        for verb, state in (("manage", "manageable"), ("inspect", "manageable"), ("provide", "available")):
            self.bring(uuids, verb, state, seconds)
        self.bring(uuids, "active", "active", seconds)

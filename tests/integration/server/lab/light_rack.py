# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A light rack in the background, and its machines as they are seen from outside: BMC, console, disk, agent."""

from __future__ import annotations

import json
import os
import re
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import httpx

_CONFIG_DRIVE = re.compile(rb"CD001\x01.{33}config-2 ", re.DOTALL)
"""The volume descriptor of an ISO 9660 file system with that label."""


def lab(*arguments: str | Path) -> str:
    """Run a command of the virtual rack and return what it said."""
    command = [sys.executable, "-m", "rackwright_lab", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@dataclass
class Machine:
    """One machine of the rack."""

    rack: LightRack
    name: str
    system: str
    mac: str
    address: str
    console: Path
    disk: Path

    def bmc(self, method: str, path: str = "", body: Any = None) -> Any:
        """Ask the BMC for something below the system."""
        answer = self.rack.client.request(method, f"{self.system}{path}", json=body)
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.content else None

    def is_on(self) -> bool:
        """Tell whether it is on."""
        return bool(self.bmc("GET")["PowerState"] == "On")

    def medium(self) -> str | None:
        """Return the URL of the medium that is inserted."""
        found = self.bmc("GET", "/VirtualMedia/Cd")
        return str(found["Image"]) if found["Inserted"] else None

    def reset(self) -> None:
        """Make it as new: off, no medium, a disk without anything on it."""
        self.bmc("POST", "/Actions/ComputerSystem.Reset", {"ResetType": "ForceOff"})
        self.bmc("POST", "/VirtualMedia/Cd/Actions/VirtualMedia.EjectMedia", {})
        self.bmc("PATCH", "", {"Boot": {"BootSourceOverrideTarget": "Hdd"}})
        size = self.disk.stat().st_size
        os.truncate(self.disk, 0)
        os.truncate(self.disk, size)
        self.console.write_text("")

    def said(self) -> str:
        """Return what its console has shown: its log of power, its agent, its system."""
        return self.console.read_text(errors="replace")

    def boots(self) -> int:
        """Return how often it was switched on."""
        return len(re.findall(r"^=== \S+ power on", self.said(), re.MULTILINE))

    def ready(self) -> str | None:
        """Return the line that the deployed system says."""
        found = re.search(r"^LAB-OS READY .*$", self.said(), re.MULTILINE)
        return found and found[0]

    def has_config_drive(self) -> bool:
        """Tell whether a config drive is on the disk."""
        with self.disk.open("rb") as disk:
            return any(_CONFIG_DRIVE.search(content) for content in _written(disk))

    def has_partitions(self) -> bool:
        """Tell whether a partition table (GPT) is on the disk."""
        with self.disk.open("rb") as disk:
            return disk.read(520).endswith(b"EFI PART")

    def agent(self) -> list[int]:
        """Return the processes of its agent."""
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                is_agent = b"rackwright_lab.agent" in path.read_bytes()
                mine = is_agent and self.address in _addresses(int(path.parent.name))
            except OSError:
                continue
            if mine:
                found.append(int(path.parent.name))
        return found

    def kill_agent(self) -> None:
        """End its agent as a crash would; the machine stays on."""
        victims = self.agent()
        assert victims, f"no agent runs on {self.name}"
        for pid in victims:
            os.kill(pid, signal.SIGKILL)


def _written(file: BinaryIO) -> Iterator[bytes]:
    """Yield the parts of a sparse file that hold data."""
    end, size = 0, os.fstat(file.fileno()).st_size
    while end < size:
        try:
            start = os.lseek(file.fileno(), end, os.SEEK_DATA)
        except OSError:  # nothing but a hole is left
            return
        end = os.lseek(file.fileno(), start, os.SEEK_HOLE)
        yield os.pread(file.fileno(), end - start, start)


def _addresses(pid: int) -> str:
    return Path(f"/proc/{pid}/net/fib_trie").read_text()


class LightRack:
    """A rack that runs until ``stop``, with virtual machines unless it is light."""

    def __init__(
        self, folder: Path, *, name: str, network: str, machines: int, tls: bool = False, light: bool = True
    ) -> None:
        self.folder = folder
        more = ["--tls"] * tls + ["--light"] * light
        options = ["--no-ipmi", "--machines", str(machines)]
        lab("rack", "--ensure", "--dir", folder, "--name", name, "--network", network, *options, *more)
        self.facts = json.loads((folder / "rack.json").read_text())
        self.host = str(self.facts["host"])
        self.redfish = str(self.facts["redfish"])
        login = (self.facts["username"], self.facts["password"])
        trust = ssl.create_default_context(cafile=self.facts["certificate"])
        self.client = httpx.Client(base_url=self.redfish, auth=login, verify=trust, timeout=60)
        self.machines = [
            Machine(
                rack=self,
                console=Path(one["console"]),
                disk=Path(one["disk"]),
                **{key: one[key] for key in ("name", "system", "mac", "address")},
            )
            for one in self.facts["machines"]
        ]

    def stop(self) -> None:
        """Stop it and all of its machines."""
        self.client.close()
        lab("stop", "--dir", self.folder)

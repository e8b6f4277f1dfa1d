# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What a rack is made of."""

import ipaddress
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from rackwright_lab.errors import LabError

MOST_MACHINES = 99
_NAME = re.compile(r"[a-z][a-z0-9-]{0,9}")


@dataclass(frozen=True, kw_only=True)
class RackOptions:
    """Everything that tells one rack from another.

    Attributes:
        directory: where the rack keeps disks, consoles, logs and its description.
        name: names the link to this machine, so it is unique on it.
        machines: how many machines, 1 to 99.
        memory: MiB of each machine.
        cpus: virtual processors of each machine.
        disk: GiB of each machine's disk, which takes only the space that is written.
        network: IPv4 network; .1 is this machine, .2 the BMCs, .101 and up the machines.
        light: run the agent as a process in place of a virtual machine.
        tls: serve Redfish over HTTPS, with a certificate of its own.
        ipmi: offer IPMI too, one port for each machine.
        ipxe: URL of the script that network boot loads; none: no network boot.

    Raises:
        LabError: a value is out of its range.
    """

    directory: Path
    name: str = "rack"
    machines: int = 1
    memory: int = 1024
    cpus: int = 1
    disk: int = 4
    network: str = "172.22.0.0/24"
    light: bool = False
    tls: bool = False
    ipmi: bool = True
    ipxe: str | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise LabError(f"Refused rack name {self.name!r}: use up to 10 of a-z, 0-9 and -, a letter first.")
        if not 1 <= self.machines <= MOST_MACHINES:
            raise LabError(f"Refused {self.machines} machines: a rack holds 1 to {MOST_MACHINES}.")
        if min(self.memory, self.cpus, self.disk) < 1:
            raise LabError("Refused a machine without memory, processor or disk: give at least 1 of each.")
        try:
            prefix = ipaddress.IPv4Network(self.network).prefixlen
        except ValueError as error:
            raise LabError(f"Refused network {self.network!r}: {error}. Give one like 172.22.0.0/24.") from error
        if prefix > 24:
            raise LabError(f"Refused network {self.network}: it is too small, give a /24 or larger one.")

    @property
    def prefix(self) -> int:
        """Length of the network's prefix in bits."""
        return ipaddress.IPv4Network(self.network).prefixlen

    @property
    def host(self) -> str:
        """Address of this machine, where a controller has to listen."""
        return self._address(1)

    @property
    def bmc(self) -> str:
        """Address of all BMCs."""
        return self._address(2)

    def machine_address(self, number: int) -> str:
        """Address that DHCP gives to a machine, counted from 1."""
        return self._address(100 + number)

    @property
    def description(self) -> Path:
        """File that describes the rack; it is there while the rack is ready."""
        return self.directory / "rack.json"

    def to_json(self) -> str:
        """Return the options as one line of JSON."""
        return json.dumps({**asdict(self), "directory": str(self.directory)})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the options that `to_json` wrote."""
        values = json.loads(text)
        return cls(**{**values, "directory": Path(values["directory"])})

    def _address(self, number: int) -> str:
        return str(ipaddress.IPv4Network(self.network)[number])

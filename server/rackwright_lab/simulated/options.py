# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What a simulated rack is made of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rackwright_lab.errors import LabError

MOST_MACHINES = 10_000


@dataclass(frozen=True, kw_only=True)
class SimulatedOptions:
    """Everything that tells one simulated rack from another; times are seconds.

    Attributes:
        directory: where the rack keeps its description and the histories of its machines.
        machines: how many machines, 1 to 10000.
        host: address of this computer that all listen on.
        port: TCP port of the Redfish service; 0: a free one.
        bmc_ports: give each BMC a port and a service of its own, in place of one service for all systems.
        boot: from power on to the first request of the agent.
        step: of each step of the agent.
        power: from a reset that was accepted to the new power state.
        beat: least time between two heartbeats of an agent; a finished command asks for one at once.
        session: how long a Redfish session lives without a request.
        tls: let agents serve https with a certificate, as real ones do.
        network_boot: URL of the script that network boot loads; none: no network boot.
        faults: YAML file of the faults to begin with.
        seed: decides which machines and requests are hit.

    Raises:
        LabError: a value is out of its range.
    """

    directory: Path
    machines: int = 10
    host: str = "127.0.0.1"
    port: int = 0
    bmc_ports: bool = False
    boot: float = 2.0
    step: float = 0.5
    power: float = 0.1
    beat: float = 5.0
    session: float = 1800.0
    tls: bool = True
    network_boot: str | None = None
    faults: Path | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.machines <= MOST_MACHINES:
            raise LabError(f"Refused {self.machines} machines: a simulated rack holds 1 to {MOST_MACHINES}.")
        if min(self.boot, self.step, self.power, self.beat, self.session) < 0:
            raise LabError("Refused a negative time: give seconds, 0 or more.")

    @property
    def description(self) -> Path:
        """File that describes the rack; it is there while the rack is ready."""
        return self.directory / "rack.json"

    @property
    def histories(self) -> Path:
        """Folder of the machines' histories, a file of JSON lines each."""
        return self.directory / "history"

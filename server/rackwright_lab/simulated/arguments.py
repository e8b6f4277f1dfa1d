# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The words of the command line that a simulated rack adds to those of other racks."""

from __future__ import annotations

import argparse
from pathlib import Path

from rackwright_lab.errors import LabError
from rackwright_lab.simulated.options import SimulatedOptions

_TIMES = {
    "boot": "from power on to the agent's first request",
    "step": "of each step of an agent",
    "power": "from a reset to the new power state",
    "beat": "least time between two heartbeats of an agent",
    "session": "life of a Redfish session that nobody uses",
}


def add_simulated(rack: argparse.ArgumentParser) -> None:
    """Add what chooses and describes a simulated rack."""
    defaults = SimulatedOptions(directory=Path())
    group = rack.add_argument_group("simulated machines", "thousands in one process, without root")
    group.add_argument("--simulated", action="store_true", help="simulate machines, BMCs and agents")
    group.add_argument("--host", default=defaults.host, help="address to listen on")
    group.add_argument("--port", type=int, default=defaults.port, help="port of Redfish; 0: a free one")
    group.add_argument("--bmc-ports", action="store_true", help="a port for each BMC, in place of one for all")
    for name, meaning in _TIMES.items():
        group.add_argument(f"--{name}-seconds", type=float, default=getattr(defaults, name), help=meaning)
    group.add_argument("--plain-agents", dest="agent_tls", action="store_false", help="agents serve http, not https")
    group.add_argument("--faults", type=lambda text: Path(text).absolute(), help="YAML file of faults to begin with")
    group.add_argument("--seed", type=int, default=defaults.seed, help="decides which machines and requests are hit")


def simulated_options(parsed: argparse.Namespace) -> SimulatedOptions:
    """Return what the command line describes; raise LabError."""
    if not parsed.dir:
        raise LabError("Could not start a rack: give its folder with --dir.")
    return SimulatedOptions(
        directory=parsed.dir,
        **{name: getattr(parsed, name) for name in ("machines", "host", "port", "bmc_ports", "faults", "seed")},
        **{name: getattr(parsed, f"{name}_seconds") for name in _TIMES},
        tls=parsed.agent_tls,
        network_boot=parsed.ipxe,
    )

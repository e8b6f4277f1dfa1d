# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The `baremetal` command of python-ironicclient: every command it has, each with its effect looked at."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from functools import partial

from tests.conformance.checks import Check, attempted
from tests.conformance.cli import inventory, nodes, steps
from tests.conformance.cli.client import Cli
from tests.conformance.servers import Server
from tests.peers.environments import environment

COMMANDS = (
    "from importlib.metadata import entry_points\n"
    "for command in entry_points(group='openstack.baremetal.v1'):\n"
    "    print(command.name.removeprefix('baremetal_').replace('_', ' '))"
)


def run(server: Server) -> Iterator[Check]:
    """Walk every group of commands."""
    with Cli(server) as cli:
        walks: dict[str, Callable[..., None]] = {
            "chassis": inventory.chassis,
            "port": inventory.ports,
            "port group": inventory.port_groups,
            "volume": inventory.volumes,
            "shard": inventory.shards,
            "driver": inventory.drivers,
            "conductor": inventory.conductors,
            "create": partial(inventory.create_from_a_file, folder=server.folder),
            "node: record": nodes.record,
            "node: traits": nodes.traits,
            "node: power": nodes.power,
            "node: hardware": partial(nodes.hardware, folder=server.folder),
            "node: console": nodes.consoles,
            "node: vif": nodes.interfaces_of_networks,
            "node: life": nodes.life,
            "node: hold and abort": nodes.held_and_aborted,
            "node: history": steps.history,
            "allocation": steps.allocations,
            "deploy template": steps.deploy_templates,
            "runbook": steps.runbooks,
            "inspection rule": steps.inspection_rules,
        }
        yield from attempted([(name, partial(walk, cli)) for name, walk in walks.items()])
        yield from attempted([("every command", partial(_all_walked, cli))])


def _all_walked(cli: Cli) -> None:
    listed = subprocess.run([environment("cli") / "python", "-c", COMMANDS], check=True, capture_output=True, text=True)
    assert not (left := set(listed.stdout.splitlines()) - cli.walked), f"not walked: {sorted(left)}"

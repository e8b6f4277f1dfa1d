# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Nova's own driver for bare metal on a machine of the virtual rack, each step with its effect on the machine."""

from __future__ import annotations

from collections.abc import Iterator

from tests.conformance.checks import Check, attempted
from tests.conformance.nova.service import Instance, driver
from tests.conformance.nova_lab.network import network
from tests.conformance.nova_lab.witness import IMAGE, PASSWORD, Witness
from tests.conformance.servers import Server

STEPS = (
    *("resources", "spawn", "refuse_second", "power_off", "power_on", "reboot_hard", "reboot_soft", "rescue"),
    *("unrescue", "rebuild", "destroy"),
)


def run(server: Server) -> Iterator[Check]:
    """Let the driver run an instance on the machine, and look at the machine after each step."""
    assert server.rack is not None
    witness = Witness(server.rack)
    (cleaned,) = attempted([("clean", witness.clean)])
    yield cleaned
    if cleaned.outcome != "passed":
        return
    image = f"{server.rack.images.url}/{IMAGE}"
    instance = Instance(witness.node, server.rack.machine.mac, image, PASSWORD, config_drive="True")
    with network() as url:
        settings = {"neutron": {"auth_type": "none", "endpoint_override": url}}
        with driver(server.url, instance, server.folder, settings) as take:
            for step in STEPS:
                yield _seen(take(step), witness)


def _seen(told: Check, witness: Witness) -> Check:
    """Return what the driver told of a step, or that it is not so."""
    look = getattr(witness, told.name, None)
    if told.outcome != "passed" or look is None:
        return told
    (seen,) = attempted([(told.name, look)])
    return seen

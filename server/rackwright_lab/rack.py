# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The rack itself: machines and their BMCs, in namespaces of their own until told to stop."""

import json
import logging
import sys
from typing import Any

from rackwright_lab import marks, network
from rackwright_lab.errors import LabError
from rackwright_lab.files import write_whole
from rackwright_lab.ipmi import port, serve_ipmi
from rackwright_lab.light import LightMachine
from rackwright_lab.machine import Machine
from rackwright_lab.namespaces import enter, wait_for_stop
from rackwright_lab.options import RackOptions
from rackwright_lab.qemu import QemuMachine, choose_accelerator
from rackwright_lab.redfish import PASSWORD, USERNAME, RedfishService


def main() -> None:
    """Run the rack that the options describe, from its start to its end."""
    options = RackOptions.from_json(enter())
    logging.getLogger("werkzeug").setLevel(logging.WARNING)  # else a line for each request
    machines: list[Machine] = []
    try:
        network.build(options)
        accelerator = () if options.light else choose_accelerator(options.directory)
        machines += _machines(options, accelerator)
        for machine in machines:
            machine.build()
        marks.follow([machine.console for machine in machines])
        network.serve_dhcp(options, machines)
        redfish = RedfishService(options, machines)
        redfish.start()
        if options.ipmi:
            serve_ipmi(machines, options.bmc, {USERNAME: PASSWORD})
        write_whole(options.description, json.dumps(describe(redfish, machines, accelerator), indent=2) + "\n")
        wait_for_stop()
    finally:
        for machine in machines:
            machine.power_off()


def _machines(options: RackOptions, accelerator: tuple[str, ...]) -> list[Machine]:
    numbers = range(1, options.machines + 1)
    if options.light:
        return [LightMachine(number, options) for number in numbers]
    return [QemuMachine(number, options, accelerator) for number in numbers]


def describe(redfish: RedfishService, machines: list[Machine], accelerator: tuple[str, ...]) -> dict[str, Any]:
    """Return what a controller has to know of the rack: the content of rack.json."""
    options = redfish.options
    return {
        "name": options.name,
        "tier": "light" if options.light else "qemu",
        "accelerator": accelerator[1].partition(",")[0] if accelerator else None,
        "host": options.host,
        "redfish": redfish.url,
        "username": USERNAME,
        "password": PASSWORD,
        "certificate": redfish.certificate and str(redfish.certificate),
        "machines": [_describe_machine(machine) for machine in machines],
    }


def _describe_machine(machine: Machine) -> dict[str, Any]:
    return {
        "name": machine.name,
        "system": f"/redfish/v1/Systems/{machine.uuid}",
        "mac": machine.mac,
        "address": machine.address,
        "ipmi_address": machine.options.bmc if machine.options.ipmi else None,
        "ipmi_port": port(machine) if machine.options.ipmi else None,
        "console": str(machine.console),
        "disk": str(machine.disk),
        "serial": machine.serial,
    }


if __name__ == "__main__":
    try:
        main()
    except LabError as error:
        sys.exit(str(error))

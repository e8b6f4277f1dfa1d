# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The BMCs' IPMI services, one UDP port for each machine."""

import threading
from collections.abc import Sequence

from pyghmi.ipmi import bmc

from rackwright_lab.machine import Machine

_FIRST_PORT = 6231
_DEVICES = {"Hdd": "hd", "Cd": "optical", "Pxe": "network"}
_BOOT_DEVICES = {name: device for device, name in _DEVICES.items()}


def port(machine: Machine) -> int:
    """Return the UDP port of a machine's BMC."""
    return _FIRST_PORT - 1 + machine.number


class IpmiBmc(bmc.Bmc):
    """The BMC of one machine, told what to do by pyghmi's server."""

    def __init__(self, machine: Machine, address: str, credentials: dict[str, str]) -> None:
        """Listen at an address; the server's thread answers."""
        super().__init__(credentials, port=port(machine), address=address)  # type: ignore[no-untyped-call]  # ships none
        self._machine = machine

    def power_on(self) -> None:
        """Switch on."""
        self._machine.power_on()

    def power_off(self) -> None:
        """Cut the power."""
        self._machine.power_off()

    def power_cycle(self) -> None:
        """Cut the power, then switch on."""
        self._machine.restart()

    power_reset = power_cycle

    def power_shutdown(self) -> None:
        """Press the power button."""
        self._machine.press_power_button()

    def get_power_state(self) -> str:
        """Return pyghmi's word for the power state."""
        return "on" if self._machine.is_on else "off"

    def get_boot_device(self) -> str:
        """Return pyghmi's word for the boot device."""
        return _DEVICES[self._machine.boot_device]

    def set_boot_device(self, bootdevice: str) -> None:
        """Set the boot device; one that the machine lacks means its disk, as `default` does."""
        self._machine.boot_device = _BOOT_DEVICES.get(bootdevice, "Hdd")


def serve_ipmi(machines: Sequence[Machine], address: str, credentials: dict[str, str]) -> None:
    """Answer IPMI requests to all machines, in one thread, until the process ends."""
    services = [IpmiBmc(machine, address, credentials) for machine in machines]
    threading.Thread(target=services[0].listen, daemon=True).start()

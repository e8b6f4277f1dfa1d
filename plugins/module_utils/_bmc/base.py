# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What we ask of a BMC, whatever protocol it speaks.

Every method may raise OperationError: the BMC cannot be reached, refuses, does not offer it, or does not do what it
accepted. Words are those of the modules' options; POWER_STATES gives the API's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

POWER_STATES = {"on": "power on", "off": "power off", "unknown": "error"}
"""Our word for a power state to the API's (contract/engine.md section 3)."""

POWER_TARGETS = {
    "power on": "on",
    "power off": "off",
    "rebooting": "reboot",
    "soft power off": "soft_off",
    "soft rebooting": "soft_reboot",
}
"""The API's word for a power action to ours."""

BOOT_DEVICES = ("pxe", "disk", "cdrom", "usb", "floppy", "bios", "uefihttp", "safe")
"""Devices to boot from; ``bios`` means the setup program."""

BOOT_MODES = ("uefi", "bios")
HEALTHS = ("OK", "Warning", "Critical")
"""How a machine is, in the API's words (contract/node-fields.md)."""

DRIVES = ("cdrom", "disk", "floppy")
"""Kinds of virtual drives; ``disk`` is a USB stick."""

INDICATOR_STATES = ("on", "off", "blinking")


@dataclass(frozen=True)
class Boot:
    """What the machine boots from next: ``device`` is None where nothing was chosen, ``mode`` where it is not known."""

    device: str | None = None
    persistent: bool = False
    mode: str | None = None
    supported: tuple[str, ...] = ()


@dataclass(frozen=True)
class Media:
    """Virtual drives: ``image`` is the URL of what is in one of them, None when they are empty."""

    image: str | None = None


@dataclass(frozen=True)
class Drive:
    """One virtual drive: the kinds of devices that it can be, and what is in it."""

    name: str
    device_types: tuple[str, ...]
    inserted: bool = False
    image: str | None = None


@dataclass(frozen=True)
class Indicator:
    """A light: its name is unique on its component, which is ``system`` or ``chassis``."""

    name: str
    component: str
    state: str
    """One of INDICATOR_STATES, or ``unknown``."""
    states: tuple[str, ...] = INDICATOR_STATES
    readonly: bool = False


@dataclass(frozen=True)
class Facts:
    """What the machine is; None for what the BMC does not tell."""

    manufacturer: str | None = None
    model: str | None = None
    serial: str | None = None
    bios_version: str | None = None
    uuid: str | None = None


@dataclass
class Bmc(ABC):
    """One machine, seen through its BMC. ``notes`` gathers what the operator should hear of, though all went well."""

    notes: list[str] = field(default_factory=list)

    @property
    @abstractmethod
    def machine(self) -> str:
        """Return a text that is the same for everybody who talks to this machine through this BMC."""

    @abstractmethod
    def forget(self) -> None:
        """Read anew what was read before."""

    @abstractmethod
    def power_state(self) -> str:
        """Return ``on``, ``off`` or ``unknown``."""

    @abstractmethod
    def health(self) -> str | None:
        """Return one of HEALTHS, of the machine with its parts; None when the BMC does not tell."""

    @abstractmethod
    def set_power_state(self, target: str, timeout: float) -> None:
        """Do ``on``, ``off``, ``reboot``, ``soft_off`` or ``soft_reboot``, and wait until it is reached.

        ``timeout`` in seconds is for each way of doing it. The soft forms ask the operating system; where the BMC
        cannot ask, or the system does not obey in time, the power is cut.
        """

    @abstractmethod
    def boot(self) -> Boot:
        """Return what the machine boots from next."""

    @abstractmethod
    def set_boot_device(self, device: str, *, persistent: bool) -> None:
        """Boot from ``device`` next time, or each time."""

    @abstractmethod
    def set_boot_mode(self, mode: str) -> None:
        """Boot in mode ``uefi`` or ``bios`` from the next time on."""

    @abstractmethod
    def secure_boot(self) -> bool | None:
        """Return whether the machine boots signed software only; None when the BMC does not tell."""

    @abstractmethod
    def next_secure_boot(self) -> bool | None:
        """Return whether it is to boot signed software only from the next time on; None when the BMC does not tell."""

    @abstractmethod
    def set_secure_boot(self, enabled: bool) -> None:
        """Boot signed software only, or any, from the next time on."""

    @abstractmethod
    def interrupt(self) -> None:
        """Send a non-maskable interrupt to the machine, which makes many systems write a dump."""

    @abstractmethod
    def media(self, expected: str | None = None, *, devices: Sequence[str] = DRIVES[:1]) -> Media:
        """Return what is in the virtual drives of these kinds.

        That is the URL ``expected`` where it is in one of them, however the BMC shows it.
        """

    @abstractmethod
    def insert(self, url: str, *, devices: Sequence[str] = DRIVES[:1]) -> None:
        """Put the image at ``url`` into a virtual drive of these kinds, and take out other ones."""

    @abstractmethod
    def eject(self, *, devices: Sequence[str] = DRIVES[:1]) -> None:
        """Empty the virtual drives of these kinds."""

    @abstractmethod
    def drives(self) -> list[Drive]:
        """Return all virtual drives."""

    @abstractmethod
    def indicators(self) -> list[Indicator]:
        """Return the lights of the machine."""

    @abstractmethod
    def set_indicator(self, name: str, component: str, state: str) -> None:
        """Bring a light into one of INDICATOR_STATES."""

    @abstractmethod
    def facts(self) -> Facts:
        """Return what the machine is."""

    @abstractmethod
    def macs(self) -> list[str]:
        """Return the MAC addresses of the machine's network ports, lower case, as far as the BMC knows them."""

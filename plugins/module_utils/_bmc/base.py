# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What we ask of a BMC, whatever protocol it speaks.

Every method may raise OperationError: the BMC cannot be reached, refuses, does not offer it, or does not do what it
accepted. Words are those of the modules' options; POWER_STATES gives the API's.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
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


@dataclass(frozen=True)
class Boot:
    """What the machine boots from next: ``device`` is None where nothing was chosen, ``mode`` where it is not known."""

    device: str | None = None
    persistent: bool = False
    mode: str | None = None
    supported: tuple[str, ...] = ()


@dataclass(frozen=True)
class Media:
    """The virtual CD drive: ``image`` is the URL of what is in it, None when it is empty."""

    image: str | None = None


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

    @abstractmethod
    def power_state(self) -> str:
        """Return ``on``, ``off`` or ``unknown``."""

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
    def media(self, expected: str | None = None) -> Media:
        """Return what is in the virtual CD drive; the URL ``expected`` where that is in it, however it is shown."""

    @abstractmethod
    def insert(self, url: str) -> None:
        """Put the image at ``url`` into the virtual CD drive, and take out another one."""

    @abstractmethod
    def eject(self) -> None:
        """Empty the virtual CD drive."""

    @abstractmethod
    def facts(self) -> Facts:
        """Return what the machine is."""

    @abstractmethod
    def macs(self) -> list[str]:
        """Return the MAC addresses of the machine's network ports, lower case, as far as the BMC knows them."""

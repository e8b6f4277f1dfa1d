# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A machine as its BMC sees it: power, boot device, media."""

import threading
import time
import uuid
from abc import ABC, abstractmethod
from pathlib import Path
from subprocess import Popen
from typing import ClassVar

from rackwright_lab.errors import LabError
from rackwright_lab.options import RackOptions

BOOT_DEVICES = ("Hdd", "Cd", "Pxe")


class Machine(ABC):
    """A machine that can be switched on and off.

    Every boot, also a warm one, is a new process, so the boot device and the media of that
    moment count, as on a real machine. Disk and console file outlive the rack.
    """

    disk_serial: ClassVar[str | None] = None

    def __init__(self, number: int, options: RackOptions) -> None:
        """Describe a machine, switched off; machines are counted from 1."""
        self.options = options
        self.number = number
        self.name = f"node-{number}"
        self.uuid = str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{self.name}.{options.name}"))
        self.mac = f"52:54:00:22:00:{number:02x}"
        self.address = options.machine_address(number)
        self.disk = options.directory / f"{self.name}.disk"
        self.console = options.directory / f"{self.name}.console"
        self.media: dict[str, Path] = {}
        self._boot_device = BOOT_DEVICES[0]
        self._process: Popen[str] | None = None
        self._lock = threading.RLock()

    def build(self) -> None:
        """Make what the machine is built of: here, its disk and its console file."""
        self.console.touch()
        if not self.disk.exists():
            with self.disk.open("wb") as file:
                file.truncate(self.options.disk << 30)

    @property
    def serial(self) -> str:
        """Serial number of the disk."""
        return self.disk_serial or f"{self.name}-disk"

    @property
    def boot_device(self) -> str:
        """What the next boot starts from, one of `BOOT_DEVICES`; stays until changed.

        Raises:
            LabError: on setting anything else.
        """
        return self._boot_device

    @boot_device.setter
    def boot_device(self, device: str) -> None:
        if device not in BOOT_DEVICES:
            raise LabError(f"Could not make {self.name} boot from {device!r}: it has {', '.join(BOOT_DEVICES)}.")
        self._boot_device = device

    @property
    def is_on(self) -> bool:
        """Whether the machine has power, also while it resets itself."""
        return self._process is not None

    def power_on(self) -> None:
        """Switch on; nothing happens where it is on."""
        with self._lock:
            if self._process is None:
                self._log(f"power on, boot from {self.boot_device}, media {sorted(self.media)}")
                self._boot()

    def power_off(self) -> None:
        """Cut the power and return when it is off."""
        with self._lock:
            if self._process is not None:
                process, self._process = self._process, None
                self._cut_power(process)
                process.wait()
                self._log("power cut")

    def press_power_button(self) -> None:
        """Ask what runs to shut down; return at once."""
        with self._lock:
            if self._process is not None:
                self._press_power_button(self._process)

    def restart(self) -> None:
        """Cut the power, then switch on."""
        with self._lock:
            self.power_off()
            self.power_on()

    def _boot(self) -> None:
        self._process = self._start()
        threading.Thread(target=self._watch, args=(self._process,), daemon=True).start()

    def _watch(self, process: Popen[str]) -> None:
        is_reset = self._wait_for_end(process)
        with self._lock:
            if self._process is not process:
                return  # its power was cut
            self._process = None
            if is_reset:
                self._log(f"reset, boot from {self.boot_device}, media {sorted(self.media)}")
                self._boot()
            else:
                self._log(f"off by itself, status {process.returncode}")

    def _log(self, text: str) -> None:
        with self.console.open("a") as file:
            file.write(f"\n=== {time.time():.2f} {text}\n")

    @abstractmethod
    def _start(self) -> Popen[str]:
        """Start a process that is the machine."""

    @abstractmethod
    def _cut_power(self, process: Popen[str]) -> None:
        """Make the process end now."""

    @abstractmethod
    def _press_power_button(self, process: Popen[str]) -> None:
        """Ask the process to end."""

    @abstractmethod
    def _wait_for_end(self, process: Popen[str]) -> bool:
        """Return, when the process has ended, whether the machine asked for a reset."""

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Machines that are virtual machines: QEMU with UEFI firmware, without any tool above it."""

import contextlib
import json
import shutil
import subprocess
import time
from pathlib import Path
from subprocess import Popen
from typing import IO

from rackwright_lab.commands import run
from rackwright_lab.machine import Machine
from rackwright_lab.network import plug
from rackwright_lab.options import RackOptions

_FIRMWARE = Path("/usr/share/OVMF/OVMF_CODE_4M.fd")
_VARIABLES = Path("/usr/share/OVMF/OVMF_VARS_4M.fd")
_BOARD = "q35,smm=off"
_KVM = ("-accel", "kvm", "-cpu", "host")
_EMULATION = ("-accel", "tcg,thread=multi", "-cpu", "max")
_BOOTS = {"Hdd": "disk", "Cd": "cd", "Pxe": "net"}


def choose_accelerator(directory: Path) -> tuple[str, ...]:
    """Return QEMU's arguments for KVM where it works, else for software emulation.

    Some cloud machines offer a /dev/kvm that fails at once, so the firmware is started with it,
    and has to get as far as its choice of a boot device.
    """
    if not Path("/dev/kvm").exists():
        return _EMULATION
    output = directory / "kvm-probe"
    output.unlink(missing_ok=True)
    command = ["qemu-system-x86_64", "-machine", _BOARD, *_KVM, "-m", "256", "-nodefaults", "-display", "none"]
    command += ["-serial", f"file:{output}", *_flash(0, _FIRMWARE, "on")]
    with Popen(command, stderr=subprocess.DEVNULL) as probe:
        try:
            for _ in range(50):
                if probe.poll() is not None:
                    return _EMULATION
                if output.exists() and b"BdsDxe" in output.read_bytes():
                    return _KVM
                time.sleep(0.1)
        finally:
            probe.kill()
    return _EMULATION


def _flash(unit: int, file: Path, readonly: str) -> list[str]:
    return ["-drive", f"if=pflash,format=raw,unit={unit},readonly={readonly},file={file}"]


class QemuMachine(Machine):
    """A virtual machine with a SCSI disk, a CD drive and one network card."""

    def __init__(self, number: int, options: RackOptions, accelerator: tuple[str, ...]) -> None:
        """Describe a machine, with QEMU's arguments for the accelerator."""
        super().__init__(number, options)
        self._accelerator = accelerator
        self._tap = f"tap{number}"
        self._variables = self.disk.with_suffix(".vars")

    def build(self) -> None:
        """Make its disk, its firmware's variables and its network card."""
        super().build()
        run("ip", "tuntap", "add", self._tap, "mode", "tap")
        plug(self._tap)
        if not self._variables.exists():
            new = self._variables.with_suffix(".new")
            shutil.copyfile(_VARIABLES, new)
            new.replace(self._variables)

    def command(self) -> list[str]:
        """Return the command that is the machine, for the boot device and media of now."""
        return [
            *("qemu-system-x86_64", "-name", self.name, "-uuid", self.uuid),
            *("-machine", _BOARD, *self._accelerator),
            *("-m", str(self.options.memory), "-smp", str(self.options.cpus)),
            # Without -no-reboot QEMU would restart inside, with the boot order of before.
            *("-nodefaults", "-display", "none", "-no-reboot", "-boot", "menu=off"),
            *("-smbios", f"type=1,manufacturer=Rackwright,product=Lab,serial={self.name},uuid={self.uuid}"),
            *_flash(0, _FIRMWARE, "on"),
            *_flash(1, self._variables, "off"),
            *("-chardev", f"file,id=console,append=on,path={self.console}"),
            *("-serial", "chardev:console", "-qmp", "stdio", "-device", "virtio-rng-pci"),
            *self._devices(),
        ]

    def _devices(self) -> list[str]:
        net = self._boot_index("net") if self.boot_device == "Pxe" else ",romfile="
        devices = [
            *("-netdev", f"tap,id=net,ifname={self._tap},script=no,downscript=no"),
            *("-device", f"virtio-net-pci,netdev=net,mac={self.mac}{net}"),
            *("-device", "virtio-scsi-pci,id=scsi"),
            *("-drive", f"if=none,id=disk,format=raw,cache=unsafe,discard=unmap,file={self.disk}"),
            "-device",
            f"scsi-hd,drive=disk,serial={self.serial},wwn=0x5000c5000000{self.number:02x}00{self._boot_index('disk')}",
        ]
        if disc := self.media.get("Cd"):
            devices += ["-drive", f"if=none,id=cd,media=cdrom,readonly=on,format=raw,file={_escaped(disc)}"]
            devices += ["-device", f"scsi-cd,drive=cd{self._boot_index('cd')}"]
        if stick := self.media.get("Floppy"):
            devices += ["-drive", f"if=none,id=stick,readonly=on,format=raw,file={_escaped(stick)}"]
            devices += ["-device", "qemu-xhci", "-device", "usb-storage,drive=stick,removable=on"]
        return devices

    def _boot_index(self, device: str) -> str:
        order = sorted(_BOOTS.values(), key=lambda name: name != _BOOTS[self.boot_device])
        return f",bootindex={order.index(device)}"

    def _start(self) -> Popen[str]:
        with self.console.open("a") as console:
            process = Popen(
                self.command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=console, text=True, bufsize=1
            )
        _tell(process.stdin, "qmp_capabilities")
        return process

    def _cut_power(self, process: Popen[str]) -> None:
        process.kill()

    def _press_power_button(self, process: Popen[str]) -> None:
        _tell(process.stdin, "system_powerdown")

    def _wait_for_end(self, process: Popen[str]) -> bool:
        is_reset = False
        for line in process.stdout or ():
            event = json.loads(line)
            if event.get("event") == "SHUTDOWN":
                is_reset = event["data"].get("reason") == "guest-reset"
        process.wait()
        return is_reset


def _tell(monitor: IO[str] | None, command: str) -> None:
    assert monitor is not None
    with contextlib.suppress(BrokenPipeError):  # it has just ended, which its watch sees
        monitor.write(json.dumps({"execute": command}) + "\n")


def _escaped(path: Path) -> str:
    """Return a path for QEMU's comma separated options."""
    return str(path).replace(",", ",,")

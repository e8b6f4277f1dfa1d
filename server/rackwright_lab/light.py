# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Machines that are processes: the real agent on a loop device, for when speed counts more than depth."""

import json
import os
import shutil
from importlib import resources
from pathlib import Path
from subprocess import Popen

from rackwright_lab.commands import run
from rackwright_lab.machine import Machine
from rackwright_lab.namespaces import Enclosed
from rackwright_lab.network import plug

REBOOT_STATUS = 3


class LightMachine(Machine):
    """A machine without firmware, kernel or boot order.

    Booted from a disc it runs the agent with the kernel parameters of the disc's GRUB
    configuration; else it plays the deployed system.
    """

    disk_serial = "light-disk"

    def _start(self) -> Popen[str]:
        loop, held = _attach(self.disk)
        try:
            enclosed = self._enclose(loop, held)
        finally:
            os.close(held)
        try:
            self._plug_in(enclosed.process.pid)
            enclosed.go()
        except BaseException:
            enclosed.kill()
            raise
        return enclosed.process

    def _enclose(self, loop: str, held: int) -> Enclosed:
        disc = self.media.get("Cd") if self.boot_device == "Cd" else None
        message = {"name": self.name, "loop": loop, "scratch": str(self._scratch()), "disc": disc and str(disc)}
        with self.console.open("a") as console:
            return Enclosed("rackwright_lab.enclosure", json.dumps(message), output=console, keep_open=[held])

    def _scratch(self) -> Path:
        scratch = self.options.directory / f"{self.name}.scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        lease = scratch / "on-lease"
        lease.write_text(resources.files("rackwright_lab.images").joinpath("boot", "on-lease").read_text())
        lease.chmod(0o755)
        return scratch

    def _plug_in(self, pid: int) -> None:
        card = f"light{pid}"
        peer = ("peer", "name", "eth0", "address", self.mac, "netns", str(pid))
        run("ip", "link", "add", card, "type", "veth", *peer)
        plug(card)

    def _cut_power(self, process: Popen[str]) -> None:
        assert process.stdin is not None
        process.stdin.close()

    _press_power_button = _cut_power

    def _wait_for_end(self, process: Popen[str]) -> bool:
        return process.wait() == REBOOT_STATUS


def _attach(disk: Path) -> tuple[str, int]:
    """Attach a loop device that goes when its last user closes it; return it and a descriptor of it."""
    loop = run("losetup", "--find", "--show", "--partscan", disk)
    held = os.open(loop, os.O_RDONLY)
    run("losetup", "--detach", loop)  # while it is open, this only marks it
    return loop, held

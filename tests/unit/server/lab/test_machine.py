# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Power, as a BMC sees it, of a machine that is a shell waiting for a word."""

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import Popen

import pytest

from rackwright_lab.errors import LabError
from rackwright_lab.machine import Machine
from rackwright_lab.options import RackOptions

RESET = 3


class ShellMachine(Machine):
    """A machine whose system is a shell: it ends with the status that it reads."""

    def _start(self) -> Popen[str]:
        self.process = Popen(["sh", "-c", "read status; exit $status"], stdin=subprocess.PIPE, text=True)
        return self.process

    def _cut_power(self, process: Popen[str]) -> None:
        process.kill()

    def _press_power_button(self, process: Popen[str]) -> None:
        assert process is self.process
        self.end(0)

    def _wait_for_end(self, process: Popen[str]) -> bool:
        status = process.wait()
        assert process.stdin is not None
        process.stdin.close()
        return status == RESET

    def end(self, status: int) -> None:
        """Have the system end by itself."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{status}\n")
        self.process.stdin.flush()


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[ShellMachine]:
    made = ShellMachine(1, RackOptions(directory=tmp_path))
    made.build()
    yield made
    made.power_off()


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end, "it did not happen within 10 s"
        time.sleep(0.01)


def test_power_goes_on_once_and_off(machine: ShellMachine) -> None:
    machine.power_on()
    first = machine.process
    machine.power_on()
    assert machine.is_on
    assert machine.process is first
    machine.power_off()
    assert not machine.is_on
    assert first.returncode is not None


def test_a_machine_that_ends_by_itself_is_off(machine: ShellMachine) -> None:
    machine.power_on()
    machine.press_power_button()
    wait_for(lambda: not machine.is_on)
    assert "off by itself, status 0" in machine.console.read_text()


def test_a_machine_that_resets_itself_boots_again_and_stays_on(machine: ShellMachine) -> None:
    machine.power_on()
    first = machine.process
    machine.end(RESET)
    wait_for(lambda: machine.process is not first)
    assert machine.is_on


def test_a_restart_is_another_boot(machine: ShellMachine) -> None:
    machine.power_on()
    first = machine.process
    machine.restart()
    assert machine.is_on
    assert machine.process is not first


def test_power_that_was_cut_during_a_reset_stays_off(machine: ShellMachine) -> None:
    machine.power_on()
    machine.end(RESET)
    machine.power_off()
    time.sleep(0.2)
    assert not machine.is_on


def test_a_boot_device_that_is_not_there_is_refused_with_those_that_are(machine: ShellMachine) -> None:
    with pytest.raises(LabError, match="Hdd, Cd, Pxe"):
        machine.boot_device = "Tape"
    assert machine.boot_device == "Hdd"


def test_a_disk_keeps_its_content_when_its_machine_is_built_again(machine: ShellMachine) -> None:
    with machine.disk.open("r+b") as disk:
        disk.write(b"kept")
    machine.build()
    with machine.disk.open("rb") as disk:
        assert disk.read(4) == b"kept"
    assert machine.disk.stat().st_size == 4 << 30

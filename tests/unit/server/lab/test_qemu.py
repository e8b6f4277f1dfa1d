# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The virtual machine that boot device and media ask for."""

import re
from pathlib import Path

import pytest

from rackwright_lab.options import RackOptions
from rackwright_lab.qemu import QemuMachine


@pytest.fixture
def machine(tmp_path: Path) -> QemuMachine:
    made = QemuMachine(1, RackOptions(directory=tmp_path), ("-accel", "tcg"))
    made.media["Cd"] = tmp_path / "a,b.iso"
    return made


def boot_order(machine: QemuMachine) -> list[str]:
    """Return the drives and cards by the index that the firmware boots them in."""
    found = re.findall(r"(?:drive|netdev)=(\w+)\S*?,bootindex=(\d)", " ".join(machine.command()))
    return [name for name, _ in sorted(found, key=lambda pair: pair[1])]


@pytest.mark.parametrize(
    ("device", "order"), [("Hdd", ["disk", "cd"]), ("Cd", ["cd", "disk"]), ("Pxe", ["net", "disk", "cd"])]
)
def test_the_boot_device_comes_first(machine: QemuMachine, device: str, order: list[str]) -> None:
    machine.boot_device = device
    assert boot_order(machine) == order


def test_a_drive_without_a_disc_is_not_there(machine: QemuMachine) -> None:
    machine.media.clear()
    machine.boot_device = "Cd"
    assert boot_order(machine) == ["disk"]


def test_a_comma_in_the_name_of_a_disc_starts_no_option(machine: QemuMachine) -> None:
    (drive,) = [word for word in machine.command() if "id=cd," in word]
    assert drive.endswith("a,,b.iso")

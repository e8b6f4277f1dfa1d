# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils._bmc import connect, operations, turn
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.tests.unit.plugins.bmc_server import BmcServer, wait_until

MACHINE = f"https://bmc-{os.getpid()}.example/redfish/v1/Systems/1"
HOLD = f"""
import sys
from {turn.__name__} import turn
with turn(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
"""


def test_one_who_waits_gets_the_turn_when_the_other_has_died(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "PAUSE", 0.02)
    command = [sys.executable, "-c", HOLD, MACHINE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline() == b"held\n"
        threading.Timer(0.3, other.kill).start()
        with turn.turn(MACHINE) as waited:
            assert waited
            assert other.wait(1) != 0


def test_machines_do_not_wait_for_each_other() -> None:
    with turn.turn(MACHINE), turn.turn(f"{MACHINE}0") as waited:
        assert not waited


def test_a_turn_that_never_comes_names_who_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turn, "LONGEST", 0.1)
    with (
        turn.turn(MACHINE),
        pytest.raises(OperationError, match=f"process {os.getpid()} of user {os.getuid()}, has been changing it"),
        turn.turn(MACHINE),
    ):
        pass


def test_what_was_read_before_the_wait_does_not_count(bmc: BmcServer) -> None:
    changes: list[bool] = []

    def work() -> None:
        with connect(bmc.context()) as machine:
            connected.set()
            params = {"name": "1", "component": "system", "state": "on"}
            changes.append(operations.set_indicator(machine, params, check=False).changed)

    connected = threading.Event()
    with connect(bmc.context()) as machine, turn.turn(machine.machine):
        thread = threading.Thread(target=work)
        thread.start()
        wait_until(connected.is_set)
        machine.set_indicator("1", "system", "on")
    thread.join()
    assert changes == [False]


def test_a_check_waits_for_nobody(bmc: BmcServer) -> None:
    with connect(bmc.context()) as machine, turn.turn(machine.machine):
        params = {"enabled": True}
        assert operations.set_secure_boot(machine, params, check=True).changed

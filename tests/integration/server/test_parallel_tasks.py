# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Playbooks that work on one BMC at the same time (field case parallel-tasks-on-one-bmc).

The jobs of BMCs, which only RAID, BIOS and firmware steps start, are not asked for by any step yet; what is changed at
once takes its turn.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rackwright.metal.tests.unit.plugins.bmc_server import Answer, BmcServer, Request, refusal

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
PLAY = """
- name: Change one machine, ten times over
  hosts: all
  gather_facts: false
  tasks:
    - name: Choose the device
      rackwright.metal.bmc_boot_device:
        device: "{{ device }}"
"""


class OneAtATime:
    """A habit of a BMC: it takes one change at a time, and remembers those that came meanwhile."""

    def __init__(self, bmc: BmcServer) -> None:
        self.bmc, self.lock, self.refused, self.taken = bmc, threading.Lock(), 0, 0

    def __call__(self, request: Request) -> Answer | None:
        if request.method != "PATCH":
            return None
        if not self.lock.acquire(blocking=False):
            self.refused += 1
            return refusal(503, message="already running")
        try:
            self.taken += 1
            time.sleep(0.2)
            return self.bmc.apply(request)
        finally:
            self.lock.release()


def play(folder: Path, bmc: BmcServer, device: str) -> subprocess.Popen[str]:
    """Start a playbook with ten hosts that all have this BMC."""
    inventory, playbook = folder / f"{device}.json", folder / "play.yml"
    shared = {"ansible_connection": "local", "device": device}
    hosts: dict[str, Any] = {f"{device}{number}": {} for number in range(10)}
    defaults = f"  module_defaults:\n    group/rackwright.metal.bmc: {json.dumps(bmc.options())}\n"
    playbook.write_text(PLAY.replace("  tasks:", f"{defaults}  tasks:"))
    inventory.write_text(json.dumps({"all": {"hosts": hosts, "vars": shared}}))
    environment = {**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".ansible/collections"), "ANSIBLE_FORKS": "3"}
    program = Path(sys.executable).with_name("ansible-playbook")
    command: list[str | Path] = [program, "-i", inventory, playbook]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def test_parallel_tasks_on_one_bmc(tmp_path: Path) -> None:
    bmc = BmcServer()
    busy = OneAtATime(bmc)
    bmc.habits.append(busy)
    with bmc.running():
        plays = [play(tmp_path, bmc, device) for device in ("pxe", "disk")]
        ended = [(each.communicate(timeout=120)[0], each.returncode) for each in plays]
    assert [code for _text, code in ended] == [0, 0], ended
    assert busy.taken >= 2, "both have changed it"
    assert busy.refused == 0, "nobody came while another one was at it"

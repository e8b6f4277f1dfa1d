# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What operators of other provisioners ran into, on the whole way from the API to the machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.server.lab.conftest import ROOT
from tests.integration.server.lab.light_rack import LightRack
from tests.integration.server.lab.lives import Lives
from tests.integration.server.lab.relay import Relay

FEED_ON = """
- hosts: localhost
  gather_facts: false
  module_defaults:
    rackwright.metal.bmc_info: &access
      address: "{{ address }}"
      system_id: "{{ system }}"
      username: "{{ user }}"
      password: "{{ secret }}"
      auth_type: basic
    rackwright.metal.bmc_boot_device: *access
  tasks:
    - name: Choose a device
      rackwright.metal.bmc_boot_device:
        device: pxe
        persistent: true
    - name: Read what the BMC tells
      rackwright.metal.bmc_info:
        gather: [power, boot, system]
      register: told
    - name: Feed it on
      rackwright.metal.bmc_boot_device:
        device: "{{ told.boot.device }}"
        persistent: "{{ told.boot.persistent }}"
      register: again
    - name: Say it
      ansible.builtin.copy:
        dest: "{{ out }}"
        content: "{{ {'told': told, 'again': again} | to_json }}"
        mode: "0600"
"""


def test_vmedia_ejected_under_running_ramdisk(lives: Lives) -> None:
    seen = lives.ejected.result()
    ends = {verb: end for verb, (end, _) in seen.calls.items()}
    assert ends == {"inspect": "manageable", "provide": "available", "active": "deploy failed"}
    for verb, (_, calls) in seen.calls.items():
        assert any("InsertMedia" in call.path for call in calls), verb
        ejects = [at for at, call in enumerate(calls) if call.method == "POST" and "EjectMedia" in call.path]
        assert ejects, verb
        for at in ejects:
            looks = [call for call in calls[:at] if call.method == "GET" and call.path == seen.system]
            assert json.loads(looks[-1].answer)["PowerState"] == "Off", verb
            orders = [call for call in calls[:at] if call.path.endswith("ComputerSystem.Reset")]
            assert json.loads(orders[-1].body)["ResetType"] in ("ForceOff", "GracefulShutdown")


@pytest.mark.parametrize("secret", ["1", "on", "pxe", "admin", "true"])
def test_masking_eats_real_values(rack: LightRack, bmc: Relay, tmp_path: Path, secret: str) -> None:
    machine = rack.machines[0]
    machine.reset()
    bmc.login = (rack.facts["username"], rack.facts["password"])
    out = tmp_path / "out.json"
    given = {"address": bmc.url, "system": machine.system, "user": secret, "secret": secret, "out": str(out)}
    play(tmp_path, FEED_ON, given)
    said = json.loads(out.read_text())
    assert said["told"]["power_state"] == "off"
    assert said["told"]["boot"]["device"] == "pxe"
    assert said["told"]["boot"]["persistent"] is True
    assert said["told"]["system"]["uuid"] == machine.system.rpartition("/")[2]
    assert said["again"]["changed"] is False
    assert all(b"***" not in call.body for call in bmc.calls)


def play(folder: Path, text: str, variables: dict[str, Any]) -> None:
    """Run a playbook on this computer."""
    (folder / "play.yml").write_text(text)
    command = [str(Path(sys.executable).parent / "ansible-playbook"), "-i", "localhost,", "-c", "local"]
    variables = {**variables, "ansible_python_interpreter": sys.executable}
    done = subprocess.run(
        [*command, "-e", json.dumps(variables), str(folder / "play.yml")],
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT / ".ansible/collections")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr

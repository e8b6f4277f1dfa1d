# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What `make demo` does once all is installed: virtual machines with firmware, kernel and the real agent."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LAB = Path("/var/tmp/rackwright-lab")
MACHINES = {"web-1": "node-1", "web-2": "node-2"}


def play(name: str, *arguments: str) -> str:
    """Play a playbook of the collection over the demo's rack and return what it printed."""
    program = str(Path(sys.executable).with_name("ansible-playbook"))
    command = [program, "-i", "inventory/lab.yml", *arguments]
    done = subprocess.run([*command, f"rackwright.metal.{name}"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture
def demo() -> Iterator[str]:
    try:
        yield play("demo")
    finally:
        play("demo_teardown")


@pytest.mark.lab
@pytest.mark.xdist_group("demo")
@pytest.mark.timeout(1500)
def test_two_virtual_machines_go_from_enroll_to_booted_systems(demo: str) -> None:
    said = dict(re.findall(r'"LAB-OS READY hostname=(\S+) instance=(\S+) address=\S+"', demo))
    assert said.keys() == MACHINES.keys()
    for host, machine in MACHINES.items():
        console = (LAB / f"{machine}.console").read_text(errors="replace")
        assert f"LAB-OS READY hostname={host} instance={said[host]}" in console
        marks = [json.loads(line)["mark"] for line in (LAB / f"{machine}.marks").read_text().splitlines()]
        assert marks.count("agent") == 3  # inspected, cleaned and deployed, each booted once
    for arguments in ((), ("--check", "--diff")):
        again = play("site", *arguments)
        assert re.findall(r"^(web-\d) .* changed=(\d+) .* failed=(\d+)", again, re.MULTILINE) == [
            ("web-1", "0", "0"),
            ("web-2", "0", "0"),
        ]

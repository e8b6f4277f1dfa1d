# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ansible_collections.rackwright.metal.plugins.plugin_utils import _lifeline

_LOOK = "import runpy, sys; runpy.run_path(sys.argv[1])['end_without_lease'](sys.argv[2])"


def outlives(door: Path) -> bool:
    """Tell whether a process outlives a look at the lease."""
    status = subprocess.run([sys.executable, "-c", _LOOK, str(_lifeline.__file__), str(door)], check=False).returncode
    assert status in (0, -signal.SIGKILL)
    return status == 0


@pytest.mark.parametrize(("left", "lives"), [(60.0, True), (-1.0, False)])
def test_a_worker_ends_when_the_lease_of_its_conductor_is_over(tmp_path: Path, left: float, lives: bool) -> None:
    until = time.clock_gettime(time.CLOCK_BOOTTIME) + left
    (tmp_path / "lease").write_text(f"{until:.3f}")
    assert outlives(tmp_path / "door.sock") is lives


@pytest.mark.parametrize("content", [None, "", "soon"])
def test_without_a_lease_that_can_be_read_a_worker_goes_on(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "lease").write_text(content)
    assert outlives(tmp_path / "door.sock")

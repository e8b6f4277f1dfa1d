# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a worker of Ansible must end: with its playbook, and when its conductor may count as dead."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from pathlib import Path

_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Ask the kernel to end this process when its parent ends, however that ends.

    A worker of Ansible has a session of its own, and ansible-playbook is not told when its starter is killed.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def end_without_lease(door: str) -> None:
    """End this worker at once when the lease beside the door is over: another conductor may have the nodes by now.

    There is no lease, and nothing happens, where the conductor is the only one.
    """
    try:
        until = float(Path(door).with_name("lease").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return
    if time.clock_gettime(time.CLOCK_BOOTTIME) >= until:
        os.kill(os.getpid(), signal.SIGKILL)

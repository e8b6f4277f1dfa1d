# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible's workers have a session of their own: without this they outlive the playbook that was killed."""

from __future__ import annotations

import ctypes
import signal

_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """Ask the kernel to end this worker when ansible-playbook ends, however it ends."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

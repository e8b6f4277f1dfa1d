# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""One after the other: whoever changes a machine through its BMC keeps others on this host from doing so meanwhile.

BMCs mix up changes that come at the same time, or refuse them. Playbooks, modules and the daemon take turns by a name
that only one process can have: the abstract address of a unix socket. It needs neither a file nor rights, and goes with
its process. Where the system has no such addresses (it is not Linux), nobody waits.
"""

from __future__ import annotations

import errno
import hashlib
import socket
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError

LONGEST = 900.0
"""Seconds to wait for one's turn; a machine that is asked to shut down may take 600 of them."""

PAUSE = 0.1


@contextmanager
def turn(machine: str) -> Iterator[bool]:
    """Keep others from changing ``machine`` (any text that is unique for it); yield whether that took a wait.

    Raise OperationError, which names the process that does not come to an end.
    """
    if sys.platform != "linux":
        yield False
        return
    name = b"\0rackwright-bmc-" + hashlib.sha256(machine.encode()).hexdigest().encode()
    began = time.monotonic()
    while (held := _hold(name)) is None:
        if time.monotonic() - began >= LONGEST:
            raise OperationError(
                f"get a turn at {machine}",
                f"Another task on this host, {_holder(name)}, has been changing it for more than {LONGEST:.0f} s.",
                "Wait for its end, or end it if it hangs.",
            )
        time.sleep(PAUSE)
    with held:
        yield time.monotonic() - began >= PAUSE


def _hold(name: bytes) -> socket.socket | None:
    """Return a socket that has the name, None while another one has it."""
    held = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        held.bind(name)
        held.listen()
    except OSError as error:
        held.close()
        if error.errno == errno.EADDRINUSE:
            return None
        raise
    return held


def _holder(name: bytes) -> str:
    """Return who has the name, as the system knows it."""
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asked:
        asked.settimeout(1)
        asked.connect(name)
        credentials = asked.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        pid, user, _group = struct.unpack("3i", credentials)
        return f"process {pid} of user {user}"
    return "which one cannot be told"

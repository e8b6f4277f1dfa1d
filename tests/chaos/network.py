# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A way from each host to the database that can be cut: the database has a network namespace of its own.

Both namespaces are without a name and end with the processes in them, and the wires with the namespaces.
"""

from __future__ import annotations

import ctypes
import os
import subprocess

from tests.unit.server import databases

_CLONE_NEWNET = 0x40000000
NETWORK = "10.77.0.0/16"


class Wires:
    """The wires between this process's namespace and the database's; they are counted from 0."""

    def __init__(self, count: int) -> None:
        """Enter a new namespace, start the database in another one, and connect both. This needs root."""
        _unshare()
        self.server = databases.postgresql(NETWORK)
        _unshare()
        assert self.server.process is not None
        self._there = ("nsenter", "--net", "--target", str(self.server.process.pid))
        for number in range(count):
            self._connect(number)

    def url(self, number: int) -> str:
        """Return the URL of the database at the other end of a wire."""
        return f"postgresql://tester@10.77.{number}.1/{databases.NAME}"

    def cut(self, number: int) -> None:
        """Let nothing pass from now on; nobody is told."""
        _call(*self._there, "ip", "link", "set", f"far-{number}", "down")

    def heal(self, number: int) -> None:
        """Let everything pass again."""
        _call(*self._there, "ip", "link", "set", f"far-{number}", "up")

    def _connect(self, number: int) -> None:
        near, far, pid = f"near-{number}", f"far-{number}", self._there[-1]
        _call("ip", "link", "add", near, "type", "veth", "peer", "name", far, "netns", pid)
        for where, name, address in (((), near, 2), (self._there, far, 1)):
            _call(*where, "ip", "address", "add", f"10.77.{number}.{address}/24", "dev", name)
            _call(*where, "ip", "link", "set", name, "up")


def _unshare() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    _call("ip", "link", "set", "lo", "up")


def _call(*words: str) -> None:
    subprocess.run(words, check=True)

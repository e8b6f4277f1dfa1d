# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A login over telnet, as the ramdisk of the lab offers to the user that a rescue is for."""

from __future__ import annotations

import socket
import time

TIMEOUT = 60.0
"""Seconds that one answer may take."""


def log_in(address: str, user: str, password: str) -> None:
    """Log in and out again. Raises AssertionError when one is not let in."""
    with _connected(address) as line:
        for prompt, answer in (("login:", user), ("assword:", password), ("# ", 'echo "$LOGNAME is in"')):
            _heard(line, prompt)
            line.sendall(f"{answer}\r\n".encode())
        _heard(line, f"{user} is in")


def _connected(address: str) -> socket.socket:
    """Return a connection; the system says that it lets people in a moment before it does."""
    end = time.monotonic() + TIMEOUT
    while True:
        try:
            return socket.create_connection((address, 23), timeout=TIMEOUT)
        except ConnectionRefusedError:
            assert time.monotonic() < end, f"nobody answers telnet at {address}"
            time.sleep(0.5)


def _heard(line: socket.socket, wanted: str) -> None:
    heard = b""
    while wanted.encode() not in heard:
        try:
            more = line.recv(4096)
        except TimeoutError:
            more = b""
        assert more, f"the rescue system said {heard!r}, where {wanted!r} was to be read"
        heard += more

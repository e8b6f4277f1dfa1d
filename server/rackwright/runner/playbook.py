# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A thin ansible-playbook: it lets the fork server run the playbook on its streams, and ends as that ends.

``python -I -S playbook.py SOCKET PROGRAM ARGUMENT...``. Where the fork server does not answer, it becomes ``PROGRAM``,
the real ansible-playbook. The request is told in ``plugins/plugin_utils/_fork_server.py``.
"""

from __future__ import annotations

import os
import socket
import sys

PATIENCE = 30.0
"""Seconds that the fork server may take to begin; at first it has all of Ansible to load."""

LOST = 70
"""Exit status where the fork server, or the process that ran the playbook, was killed."""


def main(server: str, program: str, *arguments: str) -> int:
    """Run the playbook and return the exit status of it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        if not _taken(connection, server, [program, *arguments]):
            os.execv(program, [program, *arguments])
        connection.settimeout(None)
        told = b""
        while part := connection.recv(16):
            told += part
    status = int(told or -1)
    if status < 0:
        os.write(2, b"The process that ran the playbook was killed.\n")
    return status if status >= 0 else LOST


def _taken(connection: socket.socket, server: str, words: list[str]) -> bool:
    """Send the request and tell whether the fork server has begun to carry it out."""
    arguments = [os.fsencode(word) for word in words]
    variables = [name + b"=" + value for name, value in os.environb.items()]
    request = b"\0".join([b"%d" % len(words), *arguments, *variables])
    connection.settimeout(PATIENCE)
    try:
        connection.connect(server)
        socket.send_fds(connection, [len(request).to_bytes(8, "big")], [0, 1, 2, os.open(".", os.O_PATH)])
        connection.sendall(request)
        return connection.recv(1) == b"+"
    except OSError:
        return False


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Keep a process that has loaded Ansible while playbooks run, so that each of them costs little more than its tasks.

The program itself belongs to the collection (``plugins/plugin_utils/_fork_server.py``): it imports Ansible, we do not.
It is started when a run begins and ends by itself, with us or after a time without runs.
"""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from rackwright.runner import playbook

logger = logging.getLogger(__name__)

PROGRAM = Path("ansible_collections/rackwright/metal/plugins/plugin_utils/_fork_server.py")
"""Where the program is, below the root of our collection."""

_QUEUE = 128


class ForkServer:
    """Starts the program when it is needed; one object serves many threads."""

    def __init__(self, root: Path, path: Path, *, idle: int) -> None:
        """Take the root of our collection, the place of the socket, and the seconds that it stays without a run."""
        self._words = [sys.executable, "-P", str(root / PROGRAM), str(os.getpid()), str(idle)]
        self._path = path
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._usable = idle > 0

    def command(self, program: Path, environment: Mapping[str, str]) -> list[str]:
        """Return the words that stand for ``program``, ansible-playbook, and have the program started if need be.

        ``environment`` is that of a run; its Ansible settings hold for every run until the conductor ends.
        """
        with self._lock:
            if not self._alive() and self._usable:
                self._start(environment)
            if not self._usable:
                return [str(program)]
        return [sys.executable, "-I", "-S", playbook.__file__, str(self._path), str(program)]

    def close(self) -> None:
        """End the program, and with it the playbooks that it runs."""
        with self._lock:
            self._usable = False
            if self._process is not None:
                self._process.kill()
                self._process.wait()
            self._path.unlink(missing_ok=True)

    def _alive(self) -> bool:
        """Tell whether it runs; one that failed, and was not killed, would fail again."""
        if self._process is None or (status := self._process.poll()) is None:
            return self._process is not None
        if status > 0:
            logger.error("The fork server failed; until the conductor starts anew, each run loads Ansible by itself")
            self._usable = False
        return False

    def _start(self, environment: Mapping[str, str]) -> None:
        """Start it with the socket, so that clients can wait at it from now on; it alone keeps the socket open."""
        self._path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            try:
                listener.bind(str(self._path))
                self._path.chmod(0o600)
                listener.listen(_QUEUE)
                self._process = subprocess.Popen(
                    self._words,
                    stdin=listener.fileno(),
                    stdout=subprocess.DEVNULL,
                    env=environment,
                    start_new_session=True,
                )
            except OSError:
                logger.exception("The fork server cannot be started; each run loads Ansible by itself")
                self._usable = False

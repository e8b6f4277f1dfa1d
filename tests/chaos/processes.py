# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The processes of a site: kept alive as a service manager would, and told apart to kill one of a kind."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_REST = 1.0  # least seconds between two starts of a process
_PATIENCE = 90.0  # seconds that a process may take to stop

_KINDS = {
    b"rackwright.supervisor": "supervisor",
    b"serve": "supervisor",
    b"upgrade": "upgrade",
    b"api": "api",
    b"conductor": "conductor",
}
"""By a word of the command line."""


class Process:
    """A process that is started again whenever it has ended."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str], log: Path) -> None:
        self._words, self._environment, self._log = words, environment, log
        self._process: subprocess.Popen[bytes] | None = None
        self._born = 0.0

    def revive(self) -> None:
        """Start it unless it runs."""
        dead = self._process is None or self._process.poll() is not None
        if dead and time.monotonic() - self._born > _REST:
            self._born = time.monotonic()
            with self._log.open("ab") as log:
                self._process = subprocess.Popen(self._words, env=self._environment, stdout=log, stderr=log)

    def stop(self) -> None:
        """Ask it to stop, and wait until it has."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(_PATIENCE)


@dataclass(frozen=True)
class Seen:
    """A process as the kernel shows it."""

    pid: int
    parent: int
    words: tuple[bytes, ...]

    @property
    def forked(self) -> bool:
        """Tell whether it is the fork server, or was forked from it."""
        return any(word.endswith(b"/_fork_server.py") for word in self.words)


def below(folder: Path) -> dict[int, str]:
    """Return the kinds of the processes that have to do with a folder, by their numbers."""
    seen = {each.pid: each for each in _all(str(folder).encode())}
    return {pid: _kind(each, seen) for pid, each in seen.items()}


def _all(mark: bytes) -> list[Seen]:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes()
            if mark not in words + (path / "environ").read_bytes():
                continue
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        found.append(Seen(int(path.name), parent, tuple(words.split(b"\0"))))
    return [each for each in found if each.pid != os.getpid() and each.words != (b"",)]


def _kind(one: Seen, seen: Mapping[int, Seen]) -> str:
    if one.forked:
        parent = seen.get(one.parent)
        if parent is None or not parent.forked:
            return "fork server"
        above = seen.get(parent.parent)
        return "worker" if above is not None and above.forked else "run"
    if any(word.endswith(b"/runner/playbook.py") for word in one.words):
        return "client"
    if any(word.endswith(b"/ansible-playbook") for word in one.words):
        return "run"
    return next((kind for word, kind in _KINDS.items() if word in one.words), "other")

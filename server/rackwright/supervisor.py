# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Keep the processes of the daemon alive: what ``rackwright serve`` becomes once everything is in place.

It needs nothing but the standard library, so that it stays small. Its environment holds the settings, an open socket is
the port, another open file the lock of the state directory.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

EX_CONFIG = 78
"""Exit status of a process that cannot work as it is set up; starting it again would not help."""

SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGCHLD})
"""What wakes the supervisor; its processes are started with these blocked."""

_CALM = 60.0  # seconds that a process must live for its next death to count as the first
_LONGEST_REST = 30.0


def command(*arguments: str) -> list[str]:
    """Return the command line of one of our processes, which runs nothing that lies in its working directory."""
    return [sys.executable, "-P", "-m", "rackwright.cli", *arguments]


@dataclass(slots=True)
class Child:
    """One process of the daemon, started again when it dies."""

    name: str
    arguments: list[str]
    sockets: tuple[int, ...] = ()
    process: subprocess.Popen[bytes] | None = None
    born: float = 0.0
    rest: float = 0.0
    """Seconds between its last death and the start after it."""
    next_start: float | None = None

    def start(self) -> None:
        """Start it."""
        self.born, self.next_start = time.monotonic(), None
        words = command(*self.arguments, "--parent", str(os.getpid()))
        self.process = subprocess.Popen(words, pass_fds=self.sockets)

    def due(self) -> float | None:
        """Return the seconds until it must be started, None while it runs."""
        if self.process is None:
            return 0.0
        if self.process.poll() is None:
            return None
        at = time.monotonic()
        if self.next_start is None:
            self.rest = 1.0 if at - self.born > _CALM else min(max(2 * self.rest, 1.0), _LONGEST_REST)
            self.next_start = at + self.rest
        return max(self.next_start - at, 0.0)


class Supervisor:
    """Keeps the processes alive; sleeps in the kernel while nothing happens."""

    def __init__(self, children: Sequence[Child], patience: float) -> None:
        """Take the processes, and the seconds that they may take to stop."""
        self._children = children
        self._patience = patience

    def run(self) -> int:
        """Run until a signal comes or a process says that it cannot work as it is set up."""
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        status = 0
        while True:
            due = self._start_due()
            if EX_CONFIG in (child.process.returncode for child in self._children if child.process):
                status = EX_CONFIG
                break
            got = signal.sigtimedwait(SIGNALS, due) if due is not None else signal.sigwaitinfo(SIGNALS)
            if got is not None and got.si_signo != signal.SIGCHLD:
                break
        self.stop()
        return status

    def _start_due(self) -> float | None:
        """Start what is due; return the seconds until the next one is."""
        waits = []
        for child in self._children:
            due = child.due()
            if due == 0.0:
                child.start()
            elif due is not None:
                waits.append(due)
        return min(waits, default=None)

    def stop(self) -> None:
        """Stop the conductor before the API: the BMCs of its last runs fetch their images there."""
        deadline = time.monotonic() + self._patience
        for child in reversed(self._children):
            process = child.process
            if process is None or process.poll() is not None:
                continue
            process.terminate()
            try:
                process.wait(max(deadline - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                process.kill()


def main(arguments: Sequence[str]) -> int:
    """Run an API process on the socket with the given number, and a conductor; the other argument is the patience."""
    socket, patience = int(arguments[0]), float(arguments[1])
    children = [Child("api", ["api", "--socket", str(socket)], (socket,)), Child("conductor", ["conductor"])]
    return Supervisor(children, patience).run()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Processes in namespaces of their own, which the kernel takes down as one.

A process started here is the first of its process namespace: whatever ends it, also
SIGKILL, ends all that it started. Its namespaces have no names, so nothing stays.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from typing import IO

from rackwright_lab.errors import LabError

_UNSHARE = "unshare --net --mount --uts --pid --fork --kill-child --mount-proc"
_ENTERED = "entered\n"
_GO = "go\n"


class Enclosed:
    """A module of this package, run in new process, mount and network namespaces."""

    def __init__(
        self,
        module: str,
        message: str,
        *,
        output: IO[str] | None = None,
        keep_open: Sequence[int] = (),
        env: dict[str, str] | None = None,
    ) -> None:
        """Start it, give it a line of text, and return once it is in its namespaces.

        ``output`` takes what it writes, else standard error of this process does. ``keep_open``
        are file descriptors that it holds until its end.

        Raises:
            LabError: it ended before it was in its namespaces.
        """
        self.process = subprocess.Popen(
            [*_UNSHARE.split(), sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
            pass_fds=keep_open,
            start_new_session=True,
            env={**os.environ, **(env or {})},
        )
        self._send(message + "\n")
        assert self.process.stdout is not None
        if self.process.stdout.readline() != _ENTERED:
            raise LabError(f"Could not start {module} in namespaces of its own: this needs root. See its messages.")

    def go(self) -> None:
        """Tell it that its surroundings are ready."""
        self._send(_GO)

    def ask_to_stop(self) -> None:
        """Close its standard input, which it takes as the wish to stop."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def kill(self) -> None:
        """End it and all that it started."""
        self.process.kill()

    def _send(self, line: str) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(line)
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise LabError(f"Could not start {self.process.args!r}: it ended at once. See its messages.") from error


def enter() -> str:
    """Return the message for this process, once its surroundings are ready.

    Called first thing by a module that `Enclosed` runs.
    """
    message = sys.stdin.readline()
    sys.stdout.write(_ENTERED)
    sys.stdout.flush()
    if sys.stdin.readline() != _GO:
        raise SystemExit(0)  # who started this is gone
    os.dup2(2, 1)
    return message


def wait_for_stop() -> None:
    """Return when the process that started this one asks to stop, or is gone itself."""
    sys.stdin.read()

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The two ends of a connection with a worker: what it says is a stream, and it hears that we are still there."""

from __future__ import annotations

import contextlib
import io
import select
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import IO, Any, Self

SIGN = b"\n"
"""What we send while there is nothing to say; a worker that hears none ends."""

GRACE = 2.0
"""Seconds that a worker may take to end, beyond its patience."""

_POLL = 0.2
_ERRORS = 1000  # characters of what ssh said that are told


class Channel:
    """A process whose output is read from ``stream`` on one thread, which also keeps the worker alive and ends it."""

    def __init__(self, words: Sequence[str], *, patience: float, cancelled: Callable[[], bool]) -> None:
        """Start the process; ``cancelled`` is asked several times a second whether to end the worker."""
        self._patience, self._cancelled = patience, cancelled
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 # it lives as long as the channel
        self._process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, bufsize=0
        )
        self._said = time.monotonic()
        self._end: float | None = None
        self.stream = io.BufferedReader(_Output(self._read))

    @property
    def input(self) -> IO[bytes]:
        """Return where the worker reads."""
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def ending(self) -> bool:
        """Tell whether the worker was told to end."""
        return self._end is not None

    def _read(self, most: int) -> bytes:
        """Return what the worker says next; nothing at its end."""
        assert self._process.stdout is not None
        while not select.select([self._process.stdout], [], [], _POLL)[0]:
            self._look()
        self._look()
        return self._process.stdout.read(most) or b""

    def _look(self) -> None:
        at = time.monotonic()
        if self._end is not None:
            if at >= self._end:
                self._process.kill()
        elif self._cancelled():
            self._hang_up()
        elif at - self._said >= self._patience / 4:
            self._said = at
            with contextlib.suppress(OSError):  # it has ended, which reading will tell
                self.input.write(SIGN)

    def _hang_up(self) -> None:
        """Say nothing any more: the worker ends, and ssh with it; without a connection it ends by its own clock."""
        self._end = time.monotonic() + self._patience + GRACE
        with contextlib.suppress(OSError):
            self.input.close()

    def outlast(self) -> None:
        """Wait until a worker that can no longer hear us must have ended."""
        time.sleep(max(0.0, self._said + self._patience + GRACE - time.monotonic()))

    def errors(self) -> str:
        """Return the last that ssh, or the worker, said of errors."""
        self._errors.seek(0)
        return " ".join(self._errors.read().decode(errors="replace").split())[-_ERRORS:]

    def close(self) -> int:
        """Wait for the end of the process and return its exit status; hang up if it does not end by itself."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self._process.wait(GRACE)
        with contextlib.suppress(OSError):
            self.input.close()
        try:
            return self._process.wait(self._patience + GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        with contextlib.suppress(OSError):
            self.input.close()
        self._errors.close()
        if self._process.stdout is not None:
            self._process.stdout.close()


class _Output(io.RawIOBase):
    """A file that is read by a function."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read some bytes; 0 at the end."""
        data = self._read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

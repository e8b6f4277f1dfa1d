# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Who runs the rack of a folder: a locked file, which the kernel unlocks whatever happens."""

import fcntl
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from rackwright_lab.errors import AlreadyRunningError, LabError
from rackwright_lab.options import RackOptions

_PATIENCE = 60  # seconds for the machines of a killed rack to end
_PAUSE = 0.1  # seconds between two looks


@dataclass(frozen=True)
class Owner:
    """The process that runs a rack, and what rack it is."""

    pid: int
    options: RackOptions


class RackLock:
    """The right to run the rack of a folder.

    The rack's own first process holds the lock too. So it is free only when all of the rack
    has ended, also after the process that started it was killed. That process alone holds a
    second lock, of the POSIX kind, which tells whether it lives.
    """

    def __init__(self, directory: Path) -> None:
        """Name the lock of a folder, without taking it."""
        self._path = directory / "rack.lock"
        self.descriptor = -1

    def take(self, options: RackOptions) -> Self:
        """Take the lock, after what is left of a killed rack has ended.

        Raises:
            AlreadyRunningError: a living process runs a rack here.
            LabError: what is left of a killed rack does not end.
        """
        options.directory.mkdir(parents=True, exist_ok=True)
        self.descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
        end = time.monotonic() + _PATIENCE
        while not _try_lock(self.descriptor):
            if owner := self._living_owner(self.descriptor):
                os.close(self.descriptor)
                raise AlreadyRunningError(
                    f"Could not start a rack in {options.directory}: process {owner.pid} runs one. Stop it first."
                )
            if time.monotonic() > end:
                os.close(self.descriptor)
                raise LabError(f"A killed rack still holds {self._path}: end the processes that `fuser` names for it.")
            time.sleep(_PAUSE)
        fcntl.lockf(self.descriptor, fcntl.LOCK_EX)
        os.ftruncate(self.descriptor, 0)
        options.description.unlink(missing_ok=True)
        os.pwrite(self.descriptor, json.dumps({"pid": os.getpid(), "options": options.to_json()}).encode(), 0)
        return self

    def __enter__(self) -> Self:
        """Hold the lock that was taken."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Let go of it."""
        os.ftruncate(self.descriptor, 0)
        os.close(self.descriptor)

    def owner(self) -> Owner | None:
        """Return who runs the rack, or nothing where nobody does."""
        try:
            descriptor = os.open(self._path, os.O_RDWR)
        except FileNotFoundError:
            return None
        try:
            return None if _try_lock(descriptor) else self._living_owner(descriptor)
        finally:
            os.close(descriptor)

    def is_free(self) -> bool:
        """Whether all of the rack has ended."""
        try:
            descriptor = os.open(self._path, os.O_RDWR)
        except FileNotFoundError:
            return True
        try:
            return _try_lock(descriptor)
        finally:
            os.close(descriptor)

    def wait_until_free(self) -> None:
        """Return when all of the rack has ended.

        Raises:
            LabError: it takes too long.
        """
        end = time.monotonic() + _PATIENCE
        while not self.is_free():
            if time.monotonic() > end:
                raise LabError(f"The rack still holds {self._path} after {_PATIENCE} s: see rack.log beside it.")
            time.sleep(_PAUSE)

    def _living_owner(self, descriptor: int) -> Owner | None:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            return self._read_owner()
        fcntl.lockf(descriptor, fcntl.LOCK_UN)
        return None

    def _read_owner(self) -> Owner | None:
        try:
            content = json.loads(self._path.read_text())
        except ValueError:
            return None  # it is just being written
        return Owner(content["pid"], RackOptions.from_json(content["options"]))


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

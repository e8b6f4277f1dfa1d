# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What around this process keeps it from working: its disk, and how many files it may open."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Iterator
from pathlib import Path

LEAST = 1 << 20
"""Bytes of free space without which nothing can be done."""

_FULL = "the disk that holds {} is full; free space on it"
_CLOSED = "the folder {} cannot be written; mount its disk for writing, and give it to the user of the daemon"
NO_FILES = (
    "the process has as many files open as it may",
    "raise its limit (LimitNOFILE of its service, or ulimit -n)",
)
_GONE = "the folder state_dir is not there; start the daemon again, which makes it"

_ERRORS = {
    errno.ENOSPC: "its disk is full; free space on it",
    errno.EDQUOT: "its disk quota is used up; free space, or raise it",
    errno.EROFS: "its disk is mounted read-only; mount it for writing",
    errno.EMFILE: "; ".join(NO_FILES),
    errno.ENFILE: "all processes together have as many files open as they may; raise fs.file-max",
    errno.ENOMEM: "the host has no memory left; end what needs it",
    errno.EAGAIN: "the user of the daemon has as many processes as it may; raise its limit (LimitNPROC of its service)",
}
"""Errors that say nothing about what was to be done, which can be done when they have ended; and what to do."""

FEWEST_FILES = 256
"""Open files without which a process of the daemon cannot do its work."""

_MOST_FILES = 65536  # that we ask for


def allow_files() -> int:
    """Let this process, and those that it starts, open as many files as the system allows; return how many that is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        return most
    return most if soft == resource.RLIM_INFINITY else soft


def trouble(state_dir: Path) -> str | None:
    """Return what keeps us from writing what we must, and what to do; None where nothing does.

    Folders are told by their names in the state directory, not by where that is.
    """
    return next(_troubles(state_dir), None)


def hindrance(error: BaseException) -> str | None:
    """Return what an error that comes from the surroundings means, and what to do; None for other errors."""
    text = _ERRORS.get(error.errno or 0) if isinstance(error, OSError) else None
    return f"{text} ({error})" if text else None


def _troubles(state_dir: Path) -> Iterator[str]:
    if lacks_files():
        yield "; ".join(NO_FILES)
    if not state_dir.is_dir():
        yield _GONE
    for folder in (state_dir, state_dir / "runs", state_dir / "http" / "boot"):
        if folder.is_dir() and (text := _of(folder)):
            yield text.format("state_dir" if folder is state_dir else folder.relative_to(state_dir))


def lacks_files() -> bool:
    """Return whether this process can open no further file."""
    try:
        os.close(os.dup(0))
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.ENFILE)
    return False


def _of(folder: Path) -> str | None:
    disk = os.statvfs(folder)
    if disk.f_flag & os.ST_RDONLY or not os.access(folder, os.W_OK | os.X_OK):
        return _CLOSED
    has_room = disk.f_bavail * disk.f_frsize >= LEAST and (disk.f_favail or not disk.f_files)
    return None if has_room else _FULL

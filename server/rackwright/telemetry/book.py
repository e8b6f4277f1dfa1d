# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Where a process keeps its numbers: in files that are mapped into memory.

Each process that runs at a time has a set of its own, ``<form>_<kind>-<number>.db``. A ``kill -9`` loses nothing, the
next process of that kind goes on with the same files, and any process reads all of them. The library is loaded with
the first number and not before: an idle conductor does without its memory.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import struct
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from threading import Lock
from typing import Any

FOLDER = "metrics"
"""Name of the folder in the state directory that holds the files."""

STARTS = "process_starts"
"""Name of the one number that is known without the library: how often a kind of process was started."""

_log = logging.getLogger(__name__)
_ROOM = 4 << 20  # bytes of a file: room for some ten thousand series
_FORMS = ("counter", "histogram")
_FOLDER_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"


class Book:
    """What one process keeps; nothing until ``keep_in``."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._place = ""
        self._metrics: dict[str, Any] = {}
        self._lock = Lock()

    def keep_in(self, folder: Path, kind: str) -> None:
        """Keep from now on what this process of a ``kind``, as ``api``, notes below ``folder``, beside what is there.

        Where that cannot be, the log says so, and nothing is kept.
        """
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._place = _claimed(folder, kind)
        except OSError as error:
            self._give_up(error)
        else:
            self._folder = folder

    def metric(self, name: str, make: Callable[[Any], Any]) -> Any | None:
        """Return the library's metric of a name, which ``make`` makes when it is new; None where nothing is kept."""
        found = self._metrics.get(name)
        if found is not None or self._folder is None:
            return found
        with self._lock:
            return self._made(self._folder, name, make)

    def _made(self, folder: Path, name: str, make: Callable[[Any], Any]) -> Any | None:
        import prometheus_client
        from prometheus_client import values

        if not self._metrics:
            try:
                for form in _FORMS:
                    _make_room(folder / f"{form}_{self._place}.db")
            except OSError as error:
                self._give_up(error)
                return None
            os.environ[_FOLDER_VARIABLE] = str(folder)
            values.ValueClass = values.MultiProcessValue(lambda: self._place)
        return self._metrics.setdefault(name, make(prometheus_client))

    def _give_up(self, error: OSError) -> None:
        _log.warning("Numbers are not kept: their files cannot be written", extra={"cause": str(error)})
        self._folder = None


def _claimed(folder: Path, kind: str) -> str:
    """Return the name of the first set of files of a kind that no living process holds, and count this start.

    We hold it until we end: the kernel gives it back, however that happens.
    """
    for number in count():
        held = os.open(folder / f"{kind}-{number}.lock", os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(held)
        else:
            break
    os.pwrite(held, str(_number(os.pread(held, 20, 0)) + 1).encode(), 0)
    return f"{kind}-{number}"


def _number(content: bytes) -> int:
    return int(content) if content.isdigit() else 0


def _make_room(file: Path) -> None:
    """Take all the disk space of a file at once: writing to mapped memory that the disk has no room for ends a process.

    A file that the machine left broken when it went down, or that has grown too large, is begun anew.
    """
    if file.exists() and not _is_sound(file):
        file.unlink()
    with file.open("ab") as opened:
        os.posix_fallocate(opened.fileno(), 0, _ROOM)


def _is_sound(file: Path) -> bool:
    from prometheus_client.mmap_dict import MmapedDict

    size = file.stat().st_size
    with file.open("rb") as opened:
        used = int.from_bytes(opened.read(4), sys.byteorder, signed=True)
    if not 0 <= used <= size <= _ROOM:
        return False
    try:
        for key, *_ in MmapedDict.read_all_values_from_file(str(file)):
            json.loads(key)
    except (ValueError, RuntimeError, struct.error):
        return False
    return True


class Kept:
    """A collector, for a registry of the library, of what all processes below a folder have noted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterator[Any]:
        """Yield the families of numbers."""
        from prometheus_client.core import CounterMetricFamily
        from prometheus_client.multiprocess import MultiProcessCollector

        yield from MultiProcessCollector(None, path=str(self._folder)).collect()
        starts: dict[str, int] = {}
        for file in self._folder.glob("*.lock"):
            kind = file.stem.rpartition("-")[0]
            starts[kind] = starts.get(kind, 0) + _number(file.read_bytes())
        family = CounterMetricFamily(f"rackwright_{STARTS}", "Starts of a process.", labels=("process",))
        for kind, times in sorted(starts.items()):
            family.add_metric((kind,), times)
        yield family


def serve(folder: Path, *, host: str, port: int) -> None:
    """Tell everybody who asks at a port of its own, in threads, what is kept in ``folder``; raise OSError."""
    from prometheus_client import CollectorRegistry, start_http_server

    registry = CollectorRegistry(auto_describe=False)
    registry.register(Kept(folder))
    start_http_server(port, addr=host, registry=registry)

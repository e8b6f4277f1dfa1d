# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What processes have taken of the machine: CPU time and memory. Linux only."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Memory:
    """Memory in MiB: resident, and with what is shared counted in proportion."""

    rss: float
    pss: float


def family(pid: int) -> Iterator[int]:
    """Yield a process and all below it."""
    yield pid
    for thread in _threads(pid):
        for child in _read(Path(f"/proc/{pid}/task/{thread}/children")).split():
            yield from family(int(child))


def _threads(pid: int) -> list[str]:
    """Return the threads of a process, none when it has just ended."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return [path.name for path in Path(f"/proc/{pid}/task").iterdir()]
    return []


def _read(path: Path) -> str:
    """Return what a file of /proc says, nothing when its process has just ended."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return path.read_text()
    return ""


def cpu(*pids: int) -> float:
    """Return the CPU seconds of these processes and all below them, those that have ended too."""
    total = 0
    for each in (each for pid in pids for each in family(pid)):
        fields = _read(Path(f"/proc/{each}/stat")).rpartition(")")[2].split()
        total += sum(int(field) for field in fields[11:15])
    return total / TICKS


def memory(*pids: int) -> Memory:
    """Return the memory of these processes and all below them."""
    texts = [_read(Path(f"/proc/{each}/smaps_rollup")) for pid in pids for each in family(pid)]
    return Memory(*(sum(_kib(name, text) for text in texts) / 1024 for name in ("Rss", "Pss")))


def _kib(name: str, text: str) -> int:
    found = re.search(rf"^{name}: +(\d+)", text, re.M)
    return int(found[1]) if found else 0

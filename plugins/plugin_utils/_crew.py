# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Do the same work for many nodes at once, and let no slow one hold up the others."""

from __future__ import annotations

import queue
import statistics
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

HANDS = 64
"""Nodes that are worked on at the same time."""

PATIENCE = 2.0
"""Seconds that a node may take longer than half of its wave took, before it has fallen behind."""

T = TypeVar("T")


def serve(
    work: Callable[[str], T], names: Sequence[str], *, hands: int = HANDS, patience: float = PATIENCE
) -> Iterator[tuple[str, T | None]]:
    """Yield each name with the result of ``work`` as it comes in; at the end those that have fallen behind, with None.

    ``work`` must not raise. Where it takes too long it is not interrupted: its thread dies with the process, and what
    it returns is dropped.
    """
    waiting, started, behind = deque(names), dict[str, float](), list[str]()
    times: list[float] = []
    finished: queue.SimpleQueue[tuple[str, T]] = queue.SimpleQueue()
    while waiting or started:
        while waiting and len(started) < hands:
            name = waiting.popleft()
            started[name] = time.monotonic()
            threading.Thread(target=lambda name: finished.put((name, work(name))), args=(name,), daemon=True).start()
        limit = statistics.median(times) + patience if 2 * len(times) >= len(names) else None
        try:
            name, result = finished.get(timeout=_left(started, limit))
        except queue.Empty:
            behind.append(min(started, key=lambda name: started[name]))
            del started[behind[-1]]
            continue
        if name in started:
            times.append(time.monotonic() - started.pop(name))
            yield name, result
    yield from ((name, None) for name in behind)


def _left(started: dict[str, float], limit: float | None) -> float | None:
    """Return the seconds until the first of those that work has worked for ``limit`` seconds."""
    return None if limit is None else max(min(started.values()) + limit - time.monotonic(), 0.0)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Do the same work for many nodes at once, and let no slow one hold up the others."""

from __future__ import annotations

import queue
import threading
import time
from bisect import insort
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TypeVar

HANDS = 64
"""Nodes that are worked on at the same time."""

PATIENCE = 2.0
"""Seconds that a part of a node's work may take longer than twice what it took half of the others, before the node has
fallen behind."""

T = TypeVar("T")


def serve(
    work: Callable[[str], Iterable[T]], names: Sequence[str], *, hands: int = HANDS, patience: float = PATIENCE
) -> Iterator[tuple[str, T | None]]:
    """Yield each name with what ``work`` yields at the end of each part, as it comes in; at the end the slow, and None.

    ``work`` must not raise, nor yield None, nor go on after its last part. Where it takes too long it is not
    interrupted: its thread dies with the process, and what it yields is dropped.
    """
    waiting, behind, pace = deque(names), list[str](), _Pace(patience)
    parts: queue.SimpleQueue[tuple[str, T | None]] = queue.SimpleQueue()

    def labour(name: str) -> None:
        for result in work(name):
            parts.put((name, result))
        parts.put((name, None))

    while waiting or pace.since:
        while waiting and len(pace.since) < hands:
            name = waiting.popleft()
            pace.start(name)
            threading.Thread(target=labour, args=(name,), daemon=True).start()
        try:
            name, result = parts.get(timeout=pace.left(len(waiting)))
        except queue.Empty:
            behind.extend(pace.drop_late(len(waiting)))
            continue
        if name in pace.since:
            if result is None:
                pace.end(name)
            else:
                pace.end_part(name)
                yield name, result
    yield from ((name, None) for name in behind)


class _Pace:
    """How long the parts of the work take, and who is too slow at one: by twice the time, and ``patience`` seconds.

    Where many share a busy processor, half of them are done in half of the time, and none of the others is slow.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._times: dict[int, list[float]] = defaultdict(list)
        """By part, in order: how long it took those who have done it."""
        self.since: dict[str, tuple[int, float]] = {}
        """By name of those at work: which part, and since when."""

    def start(self, name: str) -> None:
        self.since[name] = 0, time.monotonic()

    def end_part(self, name: str) -> None:
        (part, began), now = self.since[name], time.monotonic()
        insort(self._times[part], now - began)
        self.since[name] = part + 1, now

    def end(self, name: str) -> None:
        del self.since[name]

    def left(self, waiting: int) -> float | None:
        """Return the seconds until the first one is late; None while nobody can be."""
        ends = self._ends(waiting)
        return max(min(ends.values()) - time.monotonic(), 0.0) if ends else None

    def drop_late(self, waiting: int) -> list[str]:
        """Forget those who are late, and return their names."""
        ends, now = self._ends(waiting), time.monotonic()
        late = [name for name in ends if ends[name] <= now]
        for name in late:
            del self.since[name]
        return late

    def _ends(self, waiting: int) -> dict[str, float]:
        """Return until when each may be at its part; nothing for parts that half of them still have before them."""
        at = [part for part, _began in self.since.values()]
        coming = list(accumulate((at.count(part) for part in range(max(at, default=-1) + 1)), initial=waiting))[1:]
        limits = {
            part: 2 * times[len(times) // 2] + self._patience
            for part, count in enumerate(coming)
            if len(times := self._times[part]) >= count > 0
        }
        return {name: began + limits[part] for name, (part, began) in self.since.items() if part in limits}

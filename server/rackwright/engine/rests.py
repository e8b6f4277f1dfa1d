# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What goes wrong again and again is tried ever later, and a host that could carry out no run by one wave at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from rackwright.engine.waves import Wave

LONGEST = 60
"""Seconds between two attempts at most."""


def pause(times: int) -> timedelta:
    """Return how long to wait after something has gone wrong so many times in a row: 1 s, and then twice as long."""
    return timedelta(seconds=min(2 ** (min(times, LONGEST) - 1), LONGEST))


class Rests:
    """The hosts that rest because a run could not begin there or was hindered; one that works again is forgotten."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, datetime]] = {}
        """How often in a row each has been tried, and when that began or ended the last time."""

    def hindered(self, host: str, at: datetime) -> None:
        """Let a host rest from now on, as long as it is due to how often it has been tried."""
        times, _ = self._known.get(host, (1, at))
        self._known[host] = (times, at)

    def over(self, host: str) -> None:
        """Let a host have runs again."""
        self._known.pop(host, None)

    def awake(self, formed: Iterable[Wave], at: datetime) -> tuple[Sequence[Wave], datetime | None]:
        """Return the waves whose host may have a run, the first one where it is tried, and when a rest is over."""
        found, ends, tried = list[Wave](), list[datetime](), set[str]()
        for wave in formed:
            times, last = self._known.get(wave.host, (0, at))
            if times and last <= at < (end := last + pause(times)):
                ends.append(end)
            elif wave.host not in tried:
                found.append(wave)
                if times:
                    tried.add(wave.host)
        return found, min(ends, default=None)

    def tried(self, started: Iterable[Wave], at: datetime) -> None:
        """Note which waves start; a host that is tried once more rests again until it turns out that it works."""
        for wave in started:
            if known := self._known.get(wave.host):
                self._known[wave.host] = (known[0] + 1, at)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The runs that only look: which of them wait, and how many go on at once.

They have half of the slots at most, so that a look at a whole fleet holds up no operation. A BMC that is slower than
its wave is looked at once more among others like it; one that is slow even there has not answered.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from rackwright.domain.outcomes import Behind, Failed, Learned, parse
from rackwright.domain.states import PowerState
from rackwright.engine.live import LiveRun
from rackwright.engine.power_sync import Look, PowerSync
from rackwright.engine.waves import Lane
from rackwright.settings import Settings

LOOK = Lane("look")
SLOW = Lane("slow look")
"""The lane of looks at those that have fallen behind."""


class Looks:
    """Listens to a run that only looks, and keeps what it saw."""

    def __init__(self, run: LiveRun) -> None:
        self.seen: dict[str, Look] = {}
        self.behind: list[str] = []
        self._run = run

    def lines(self, said: Sequence[Mapping[str, Any]]) -> None:
        """Take lines."""
        for report in map(parse, said):
            match report.outcome:
                case Learned(facts) if facts.get("power_state") in (PowerState.ON, PowerState.OFF):
                    self.seen[report.node] = Look(
                        facts["power_state"], facts.get("health"), way=facts.get("look") or {}
                    )
                case Failed(cause=cause, kind=kind):
                    self.seen[report.node] = Look(error=cause, kind=kind)
                case Behind() if self._run.lane == SLOW:
                    self.seen[report.node] = Look(error="the BMC is slower than others that are slow", kind="timeout")
                case Behind():
                    self.behind.append(report.node)

    def reached(self, mark: str) -> None:
        """Take a mark; the tasks of such a run need nothing of one another."""
        self._run.reached(mark)

    def cancelled(self) -> bool:
        """Tell whether the run is to be ended."""
        return self._run.cancelled.is_set()


class LookQueue:
    """The looks of one conductor that are to come or go on; no node is in two of them."""

    def __init__(self, power: PowerSync, settings: Settings) -> None:
        self._power = power
        self._most = max(1, min(settings.sync_power_state_workers, settings.run_slots // 2))
        self._waiting: list[LiveRun] = []
        self._under_way: dict[str, LiveRun] = {}
        self._lock = threading.Lock()

    def round(self, *, recovering: bool) -> None:
        """Look at all nodes that are due, but for those that an earlier round has not come to yet."""
        with self._lock:
            taken = {uuid for run in (*self._waiting, *self._under_way.values()) for uuid in run.operations}
        self.add(self._power.runs(recovering=recovering, apart_from=taken))

    def add(self, runs: Sequence[LiveRun]) -> None:
        """Let these runs take place, soon."""
        with self._lock:
            self._waiting += runs

    def is_empty(self) -> bool:
        """Tell whether no look waits."""
        with self._lock:
            return not self._waiting

    def take(self, free: int) -> Sequence[LiveRun]:
        """Return the runs that start now, at most ``free``; they count until ``ended``."""
        with self._lock:
            count = max(0, min(free, self._most - len(self._under_way)))
            started = self._waiting[:count]
            for run in started:
                run.lane = LOOK if run.lane is None else run.lane
                run.contexts = self._power.ways.contexts(run)
            self._waiting = self._waiting[count:]
            self._under_way |= {run.run_id: run for run in started}
        return started

    def ended(self, run: LiveRun, behind: Sequence[str]) -> None:
        """Forget a run; look once more at those that were slower than the others."""
        with self._lock:
            self._under_way.pop(run.run_id, None)
        if behind:
            again = self._power.runs_at(behind)
            for each in again:
                each.lane = SLOW
            self.add(again)

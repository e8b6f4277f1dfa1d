# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The runs that are going on in this conductor; kept in memory, since none of them outlives it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rackwright.domain.steps import Step, Steps
from rackwright.domain.verbs import Phase
from rackwright.engine.waves import Lane


@dataclass(slots=True)
class LiveRun:
    """One run: who takes part, in which steps, and how far its events have come."""

    run_id: str
    phase: Phase
    steps: Steps
    position: int
    """Position of the first step in the list of every operation of the run."""
    operations: Mapping[str, str | None]
    """Node to operation; None in a run that only looks."""
    contexts: Mapping[str, Mapping[str, Any]] | None = None
    """What the door tells by host, in a run that has no operation."""
    lane: Lane | None = None
    """The kind of work, in a run of a wave."""
    host: str = ""
    """The execution host; empty: this one."""
    cancelled: threading.Event = field(default_factory=threading.Event)
    _marks: set[str] = field(default_factory=set)
    _news: threading.Condition = field(default_factory=threading.Condition)

    def step(self, index: int) -> Step | None:
        """Return the step at a position of the operations' list, None where the run has no such step."""
        offset = index - self.position
        return self.steps[offset] if 0 <= offset < len(self.steps) else None

    def hosts(self) -> dict[str, Any]:
        """Return what the inventory tells of a run with ``contexts``: of one host, where that stands for all."""
        told = list((self.contexts or {}).items())
        shown = told[:1] if self.steps[0].batched else told
        return {name: {key: each.get(key, {}) for key in ("node", "variables")} for name, each in shown}

    def reached(self, mark: str) -> None:
        """Note that every line before ``mark`` has been dealt with."""
        with self._news:
            self._marks.add(mark)
            self._news.notify_all()

    def wait_for(self, mark: str, seconds: float) -> bool:
        """Wait until the lines have come to ``mark``; tell whether they have."""
        with self._news:
            return self._news.wait_for(lambda: mark in self._marks, seconds)


class LiveRuns:
    """All of them, by run id."""

    def __init__(self) -> None:
        self._runs: dict[str, LiveRun] = {}
        self._lock = threading.Lock()

    def add(self, run: LiveRun) -> None:
        """Keep a run while it goes on."""
        with self._lock:
            self._runs[run.run_id] = run

    def remove(self, run_id: str) -> None:
        """Forget a run that has ended."""
        with self._lock:
            self._runs.pop(run_id, None)

    def get(self, run_id: str) -> LiveRun | None:
        """Return a run that is going on."""
        with self._lock:
            return self._runs.get(run_id)

    def lanes(self) -> Counter[Lane]:
        """Return how many runs of waves go on, by kind of work."""
        with self._lock:
            return Counter(run.lane for run in self._runs.values() if run.lane is not None)

    def cancel_all(self) -> int:
        """Ask every run to end; return how many had not been asked yet."""
        with self._lock:
            asked = [run for run in self._runs.values() if not run.cancelled.is_set()]
            for run in asked:
                run.cancelled.set()
        return len(asked)

    def __len__(self) -> int:
        with self._lock:
            return len(self._runs)

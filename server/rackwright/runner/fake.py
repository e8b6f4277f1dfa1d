# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A runner without Ansible: a function plays every step of every node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rackwright.domain.outcomes import Behind, Done, Failed, Learned, Outcome, Report, Settled, Started, Waiting, render
from rackwright.runner.base import Listener, PlaybookRun, RunResult, RunStatus

Play = Callable[[str, Mapping[str, Any]], Outcome | None]
"""Takes node and step, returns how it went (None = done); may raise Death."""


class Death(Exception):
    """The run dies here, as if it had been killed."""


class FakeRunner:
    """Obeys the protocol of the real one; ``runs`` remembers what was started."""

    def __init__(self, play: Play | None = None) -> None:
        """Take the function that plays; without one every step is done at once."""
        self.play: Play = play or (lambda _node, _step: None)
        self.runs: list[PlaybookRun] = []

    def run(self, run: PlaybookRun, listener: Listener) -> RunResult:
        """Play the steps one after another, each for all nodes that are still in the run."""
        self.runs.append(run)
        live, failed = list(run.nodes), dict[str, str]()
        try:
            for step in run.steps:
                if run.batched:
                    listener.lines([render(Report(node, step["index"], Started())) for node in live])
                live = [node for node in live if self._stays(node, step, run, listener, failed)]
                if listener.cancelled():
                    return RunResult(RunStatus.CANCELLED)
        except Death as death:
            return RunResult(RunStatus.DIED, cause=str(death))
        return RunResult(RunStatus.FINISHED, failed=failed)

    def _stays(
        self, node: str, step: Mapping[str, Any], run: PlaybookRun, listener: Listener, failed: dict[str, str]
    ) -> bool:
        outcome = self.play(node, step)
        if isinstance(outcome, Failed) and not run.batched:
            failed[node] = outcome.cause
            return False
        if isinstance(outcome, Done) and outcome.facts:
            outcome = Learned(outcome.facts)  # the lines of a run know no "done"
        if outcome is not None and not isinstance(outcome, Done):
            listener.lines([render(Report(node, step["index"], outcome))])
        return not isinstance(outcome, Waiting | Failed | Behind)


__all__ = ["Death", "FakeRunner", "Play", "Settled"]

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What the engine knows of a playbook run."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from rackwright.telemetry.surroundings import hindrance

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PlaybookRun:
    """One run to start (architecture.md, "A run")."""

    run_id: str
    playbook: str
    """Full name of the playbook, as rackwright.metal.deploy."""
    nodes: Sequence[str]
    """UUIDs; with ``steps`` only for the log and for runners that play themselves: Ansible asks the door."""
    steps: Sequence[Mapping[str, Any]]
    """``name``, ``interface``, ``role``, ``tasks`` and ``index`` of each step."""
    batched: bool
    door: Path
    host: str = ""
    """The execution host; empty: this one."""


class RunStatus(StrEnum):
    """How a run ended."""

    FINISHED = "finished"
    """The playbook came to its end; single hosts may have failed where steps are not batched."""
    DIED = "died"
    """It did not: what it did is not known beyond its lines."""
    CANCELLED = "cancelled"
    """The daemon ended it."""
    HINDERED = "hindered"
    """Its host could not carry it out, for a reason that has nothing to do with its nodes: a full disk, for one."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """The end of a run."""

    status: RunStatus
    failed: Mapping[str, str] = field(default_factory=dict)
    """Host to cause, for tasks that ran host by host."""
    cause: str = ""
    """Why it died, or what hindered it."""

    @classmethod
    def broken_off(cls, error: Exception, *, where: str = "") -> RunResult:
        """Return how a run ended that an exception has ended; ``where``: at which execution host."""
        if cause := hindrance(error):
            return cls(RunStatus.HINDERED, cause=cause)
        logger.error("A run broke off", exc_info=error, extra={"host": where} if where else None)
        return cls(RunStatus.DIED, cause=": ".join(filter(None, (where, type(error).__name__, str(error)))))


class Listener(Protocol):
    """Takes what a run tells while it goes on, in its order and on one thread."""

    def lines(self, said: Sequence[Mapping[str, Any]]) -> None:
        """Take reports, each of one node: all that have come since the last ones."""

    def reached(self, mark: str) -> None:
        """Take it that every line before this mark has been told."""

    def cancelled(self) -> bool:
        """Tell whether the run is to be ended; asked several times a second."""


class Runner(Protocol):
    """Starts playbook runs; one object serves many threads."""

    def run(self, run: PlaybookRun, listener: Listener) -> RunResult:
        """Run a playbook to its end and return how it went; never raises for anything that the playbook does."""

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Which nodes share a run; no effects.

Nodes share one when their next leg runs the same task files for the same phase. A run that died is tried again in
halves, then node by node, so that a node that kills its run takes others with it only once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rackwright.domain.steps import Steps, leg_key
from rackwright.domain.verbs import Phase

LAST_ATTEMPT = 3
"""Deaths of a run after which a node's step counts as failed; the last one has the node alone."""


@dataclass(frozen=True, slots=True)
class Ready:
    """One operation that can go on."""

    operation: str
    phase: Phase
    leg: Steps
    position: int
    since: datetime
    alone: bool = False
    attempts: int = 0
    before: str | None = None
    """The run that died."""


@dataclass(frozen=True, slots=True)
class Wave:
    """What one run takes."""

    phase: Phase
    leg: Steps
    members: tuple[Ready, ...]

    @property
    def batched(self) -> bool:
        """Tell whether one task serves all nodes."""
        return self.leg[0].batched


def form(ready: Iterable[Ready], *, size: int) -> Sequence[Wave]:
    """Return the waves of at most ``size`` nodes, that of the node that waits longest first."""
    groups: dict[tuple[Any, ...], list[Ready]] = {}
    for one in sorted(ready, key=lambda each: each.since):
        groups.setdefault(_group(one), []).append(one)
    return sorted(
        (Wave(part[0].phase, part[0].leg, part) for group in groups.values() for part in _parts(group, size)),
        key=lambda wave: wave.members[0].since,
    )


def _group(one: Ready) -> tuple[Any, ...]:
    single = one.operation if one.alone or one.attempts >= LAST_ATTEMPT - 1 else None
    return (one.phase, one.position, leg_key(one.leg), single, one.before if one.attempts else None)


def _parts(group: list[Ready], size: int) -> Iterator[tuple[Ready, ...]]:
    limit = min(size, (len(group) + 1) // 2) if group[0].attempts else size
    for start in range(0, len(group), limit):
        yield tuple(group[start : start + limit])

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Which nodes share a run; no effects.

Nodes share one when their next leg runs the same task files for the same phase. Those that were slower than their wave
share one with others like them; who is slower than those has one alone. A run that died is tried again in halves, then
node by node, so that a node that kills its run takes others with it only once more. Those who asked take
turns, so that a thousand nodes of one of them do not keep a single node of another waiting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from rackwright.domain.steps import Steps, leg_key
from rackwright.domain.verbs import Phase


class Lane(NamedTuple):
    """What kind of work a wave is; the waves of a lane follow one another."""

    name: str
    position: int = 0
    leg: str = ""
    begins: bool = False
    """None of its operations has begun: no machine has been touched, and no agent waits."""


ASIDE = Lane("aside")
"""The lane of all nodes that are slow, or have a run of their own because their runs have died."""

SINGLE_FROM = 2
"""Deaths of a run after which a node has its run for itself."""

LAST_ATTEMPT = 8
"""Deaths of a run after which a node's step counts as failed: so often it dies of nothing but the node itself."""


@dataclass(frozen=True, slots=True)
class Ready:
    """One operation that can go on."""

    operation: str
    phase: Phase
    leg: Steps
    position: int
    since: datetime
    slow: bool = False
    """It has been slower than a wave."""
    alone: bool = False
    """It has been slower than a wave of slow ones."""
    begun: bool = False
    """It has had a run: its machine may have been touched, and its agent may wait."""
    attempts: int = 0
    before: str | None = None
    """The run that died."""
    asker: str = ""
    """The project or user that asked for it; empty where nobody knows."""
    host: str = ""
    """The execution host; empty: this one."""

    @property
    def single(self) -> bool:
        """Tell whether the node has its run for itself."""
        return self.alone or self.attempts >= SINGLE_FROM


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

    @property
    def host(self) -> str:
        """Return the execution host; empty: this one."""
        return self.members[0].host

    @property
    def since(self) -> datetime:
        """Return since when one of its nodes waits, the first."""
        return min(member.since for member in self.members)

    @property
    def lane(self) -> Lane:
        """Return the kind of work."""
        first = self.members[0]
        aside = first.slow or first.single
        begins = not any(member.begun for member in self.members)
        return ASIDE if aside else Lane(first.phase, first.position, leg_key(first.leg), begins)


def form(ready: Iterable[Ready], *, size: int) -> Sequence[Wave]:
    """Return the waves of at most ``size`` nodes, that of the node that waits longest first."""
    groups: dict[tuple[Any, ...], list[Ready]] = {}
    for one in sorted(ready, key=lambda each: each.since):
        groups.setdefault(_group(one), []).append(one)
    parts = (part for group in groups.values() for part in _parts(_in_turns(group), size))
    return sorted((Wave(part[0].phase, part[0].leg, part) for part in parts), key=lambda wave: wave.since)


def _in_turns(group: list[Ready]) -> list[Ready]:
    """Return the first one of each asker, then the second of each, and so on."""
    turns: Counter[str] = Counter()
    ranked: list[tuple[int, Ready]] = []
    for one in group:
        ranked.append((turns[one.asker], one))
        turns[one.asker] += 1
    return [one for _, one in sorted(ranked, key=lambda each: each[0])]


def _group(one: Ready) -> tuple[Any, ...]:
    single = one.operation if one.single else None
    dead = one.before if one.attempts else None
    return (one.phase, one.position, leg_key(one.leg), one.host, one.slow, single, dead)


def _parts(group: list[Ready], size: int) -> Iterator[tuple[Ready, ...]]:
    limit = min(size, (len(group) + 1) // 2) if group[0].attempts else size
    for start in range(0, len(group), limit):
        yield tuple(group[start : start + limit])

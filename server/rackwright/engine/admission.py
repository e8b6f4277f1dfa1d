# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Which of the waves start now, so that nobody is starved and no storm breaks loose.

No more nodes of one rack or BMC are worked on at once than the operator allows. What was begun goes on before more is
begun, so that no agent waits long. The kinds of work that are to begin take turns, and no kind has all slots. Who comes
when a run of the kind goes on, or many other runs, waits a little for others, since a run costs about as much for one
node as for ten. What died is tried ever later, and so is a host that can carry out no runs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from rackwright.engine import hosts, waves
from rackwright.engine.live import LiveRuns
from rackwright.engine.rests import Rests, pause
from rackwright.engine.waves import ASIDE, Lane, Ready, Wave
from rackwright.engine.world import World
from rackwright.settings import Settings
from rackwright.store import work
from rackwright.store.node import Node
from rackwright.store.operation import OperationStatus
from rackwright.store.session import reading

COMPANY = (timedelta(), timedelta(seconds=0.5), timedelta(seconds=2))
"""How long a node waits at most for others that need the same, where neither, one or both of these is true:

a run for such nodes goes on already; half of the slots are taken, so that more runs would only slow one another down.
"""

Place = tuple[str, str]
"""Something that nodes share: ``("rack", its name)`` or ``("bmc", its address)``."""


def places(node: Node, settings: Settings) -> frozenset[Place]:
    """Return what a node shares with others."""
    rack = node.properties.get(settings.rack_property) if settings.rack_property else node.conductor_group
    address = next((value for key, value in sorted(node.driver_info.items()) if key.endswith("_address")), None)
    named = {"rack": rack, "bmc": address}
    return frozenset((kind, str(name)) for kind, name in named.items() if name)


LIMITS = {"rack": "max_running_per_rack", "bmc": "max_running_per_bmc"}
"""The setting that limits how many nodes of a place runs work on at a time, by kind of place; 0 = none."""


def limits_of(settings: Settings) -> dict[str, int]:
    """Return the limits by kind of place."""
    return {kind: getattr(settings, name) for kind, name in LIMITS.items()}


def below_limits(
    ready: Iterable[Ready],
    where: Mapping[str, frozenset[Place]],
    taken: Counter[Place],
    limits: Mapping[str, int],
) -> Sequence[Ready]:
    """Return those that can go on, who waits longest first; ``where`` is by operation, ``taken`` counts running ones.

    ``limits`` is by kind of place; 0 = none.
    """
    used, found = Counter(taken), list[Ready]()
    for one in sorted(ready, key=lambda each: each.since):
        mine = [place for place in where.get(one.operation, ()) if limits[place[0]]]
        if all(used[place] < limits[place[0]] for place in mine):
            used.update(mine)
            found.append(one)
    return found


def in_turns(formed: Iterable[Wave], busy: Counter[Lane], served: Sequence[Lane] = ()) -> Sequence[Wave]:
    """Return the waves so that the lane comes first that has the fewest runs, counting those before it in the list.

    Among equals the lane that was not ``served`` lately comes first (its last one was the latest), then who waits
    longest.
    """
    used, ranked = Counter(busy), list[tuple[int, int, Wave]]()
    for wave in formed:
        lately = served.index(wave.lane) if wave.lane in served else -1
        ranked.append((used[wave.lane], lately, wave))
        used[wave.lane] += 1
    return [wave for *_, wave in sorted(ranked, key=lambda each: each[:2])]


def begun_first(ordered: Sequence[Wave], busy: Counter[Lane], *, slots: int) -> Sequence[Wave]:
    """Return the waves of operations that have begun before the others, who waits longest first.

    Kinds of work that are to begin, and have no run, come even before them, up to half of the slots: whoever wants
    something new waits for one run at most. A single slot is taken in turns only.
    """
    if slots == 1:
        return ordered
    ahead, used = list[Wave](), {lane for lane, count in busy.items() if count}
    room = slots // 2 - sum(count for lane, count in busy.items() if lane.begins)
    for wave in ordered:
        if wave.lane.begins and wave.lane not in used and len(ahead) < room:
            used.add(wave.lane)
            ahead.append(wave)
    begun = [wave for wave in ordered if not wave.lane.begins]
    later = [wave for wave in ordered if wave.lane.begins and wave not in ahead]
    return [*ahead, *sorted(begun, key=lambda wave: wave.since), *later]


def choose(ordered: Iterable[Wave], busy: Counter[Lane], *, free: int, slots: int) -> Sequence[Wave]:
    """Return the waves that start now, at most ``free``; ``busy`` counts the runs that go on, by lane.

    One lane leaves a slot to the others, and nodes that are slower than their waves leave half of the slots.
    """
    used, found = Counter(busy), list[Wave]()
    for wave in ordered:
        most = max(1, slots // 2 if wave.lane == ASIDE else slots - 1)
        if len(found) < free and used[wave.lane] < most:
            used[wave.lane] += 1
            found.append(wave)
    return found


def grown(
    formed: Iterable[Wave], busy: Counter[Lane], *, loaded: bool, size: int, at: datetime
) -> tuple[Sequence[Wave], datetime | None]:
    """Return the waves that are not to wait for others to join them, and when the first of the rest is such a one.

    Waves of ``size`` nodes do not wait for others, nor a node that is on its own. Those that died wait for a while.
    """
    used, found, ends = Counter(busy), list[Wave](), list[datetime]()
    for wave in formed:
        first, load = wave.members[0], (used[wave.lane] > 0) + loaded
        alone = first.single or len(wave.members) >= size
        end = wave.since + (pause(first.attempts) if first.attempts else COMPANY[0 if alone else load])
        used[wave.lane] += 1
        if wave.since <= at < end:
            ends.append(end)
        else:
            found.append(wave)
    return found, min(ends, default=None)


class Admission:
    """Decides for one conductor."""

    def __init__(self, world: World, runs: LiveRuns) -> None:
        self._world = world
        self._runs = runs
        self.rests = Rests()
        self._served: list[Lane] = []
        self.next_look: datetime | None = None
        """When the first of the waves that still grow, or rest, has done so for long enough."""

    def waves(self, ready: Sequence[Ready], *, free: int) -> Sequence[Wave]:
        """Return the waves that start now, at most ``free``."""
        settings = self._world.settings
        formed = waves.form(hosts.placed(self._below_limits(ready), self._world), size=settings.wave_size)
        busy = self._runs.lanes()
        loaded = 2 * free <= settings.run_slots
        size, at = settings.wave_size, self._world.clock()
        awake, rested = self.rests.awake(formed, at)
        ready_now, old = grown(awake, busy, loaded=loaded, size=size, at=at)
        self.next_look = min((each for each in (rested, old) if each is not None), default=None)
        slots, ordered = settings.run_slots, in_turns(ready_now, busy, self._served)
        chosen = choose(begun_first(ordered, busy, slots=slots), busy, free=free, slots=slots)
        self.rests.tried(chosen, at)
        lanes = [wave.lane for wave in chosen]
        waiting = {wave.lane for wave in formed}
        self._served = [lane for lane in self._served if lane in waiting and lane not in lanes] + lanes
        return chosen

    def _below_limits(self, ready: Sequence[Ready]) -> Sequence[Ready]:
        settings = self._world.settings
        limits = limits_of(settings)
        if not ready or not any(limits.values()):
            return ready
        where: dict[str, frozenset[Place]] = {}
        taken: Counter[Place] = Counter()
        with reading(self._world.database) as session:
            for uuid, status, node in work.whereabouts(session=session):
                where[uuid] = places(node, settings)
                if status == OperationStatus.RUNNING:
                    taken.update(where[uuid])
        return below_limits(ready, where, taken, limits)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Compare the recorded power states with the machines', many nodes in one run that only looks.

Source: contract/engine.md section 3. The verdict on one node is a pure function.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from typing import Any

from sqlmodel import Session

from rackwright.domain.errors import RackwrightError
from rackwright.domain.outcomes import cut
from rackwright.domain.states import ProvisionState
from rackwright.domain.steps import Step
from rackwright.domain.verbs import Interface, Phase
from rackwright.engine import bmc_errors, composition, plan, transitions
from rackwright.engine.hosts import host_of
from rackwright.engine.live import LiveRun
from rackwright.engine.power_news import telling
from rackwright.engine.ways import Ways
from rackwright.engine.world import World
from rackwright.store import node as nodes
from rackwright.store import power
from rackwright.store.columns import new_uuid
from rackwright.store.node import Node
from rackwright.store.power import Recorded
from rackwright.store.session import reading
from rackwright.telemetry.facts import about
from rackwright.telemetry.numbers import POWER_LOOKS

logger = logging.getLogger(__name__)

FAULT = "power failure"
PLAYBOOK = "rackwright.metal.power_sync"
READ = "read_power_state"
"""The step that only looks."""

BROAD = 5
"""How many times as many nodes a run takes that only looks: it keeps little of each, and much of its cost is fixed."""

TOGETHER = 50
"""Nodes whose power states are stored in one transaction."""


class Verdict(Enum):
    """What follows from one look at one node."""

    NOTHING = "nothing"
    STORE = "store"
    """Reality is recorded."""
    ENFORCE = "enforce"
    """The recorded state is set on the machine again."""
    GIVE_UP = "give up"
    """The node goes into maintenance."""
    RECOVER = "recover"
    """The node comes out of the maintenance that we put it into."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a run saw of a node: a power state, or why there is none."""

    state: str | None = None
    health: str | None = None
    """How the BMC says that the machine is; None when it does not tell."""
    error: str = ""
    kind: str = ""
    """What kind of error of the BMC it is; empty for none."""
    way: Mapping[str, Any] = field(default_factory=dict)
    """What the look has learnt of the way to the power state, for the next one."""


def judge(node: Node, look: Look, failures: int, *, most: int, force: bool) -> tuple[Verdict, int]:
    """Return what to do, and how many looks in a row have now gone wrong.

    ``failures`` is that number before this look, ``most`` the number that is borne.
    """
    if node.maintenance:
        return (Verdict.RECOVER if look.state else Verdict.NOTHING), 0
    if look.state is not None and node.power_state is None:
        return Verdict.STORE, 0
    if look.state is not None and look.state == node.power_state:
        return Verdict.NOTHING, 0
    if failures + 1 > most:
        return Verdict.GIVE_UP, 0
    if look.state is None:
        return Verdict.NOTHING, failures + 1
    if force and not node.disable_power_off:
        return Verdict.ENFORCE, failures + 1
    return Verdict.STORE, 0


class PowerSync:
    """Knows how often in a row the look at each node went wrong, and the ways to them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.ways = Ways(world)
        self._failures: dict[str, tuple[int, datetime]] = {}
        self._lock = threading.Lock()

    def runs(self, *, recovering: bool, apart_from: Collection[str] = ()) -> list[LiveRun]:
        """Return the runs that look at all nodes that are due: broken ones when ``recovering``, else the others."""
        with reading(self._world.database) as session:
            due = _due(session, recovering=recovering)
        mine = [node for node in due if self._world.membership.owns(node)]
        if not recovering:
            self._forget_others({node.uuid for node in mine})
        return self._grouped([node for node in mine if node.uuid not in apart_from])

    def runs_at(self, uuids: Sequence[str]) -> list[LiveRun]:
        """Return the runs that look at these nodes, without those whose power nobody can read."""
        with reading(self._world.database) as session:
            return self._grouped(nodes.find(session=session, uuids=uuids))

    def _forget_others(self, uuids: Collection[str]) -> None:
        """Let go of what is remembered of nodes that were deleted, given away or taken up."""
        with self._lock:
            self._failures = {uuid: failures for uuid, failures in self._failures.items() if uuid in uuids}
        self.ways.keep(uuids)

    def _grouped(self, due: Sequence[Node]) -> list[LiveRun]:
        groups: dict[tuple[str, str, str], list[str]] = {}
        steps: dict[tuple[str, str, str], Step] = {}
        readers: dict[tuple[str, str | None], Step | None] = {}
        for node in due:
            kind = (node.driver, node.power_interface)
            if kind not in readers:
                readers[kind] = self._reader(node)
            if (step := readers[kind]) is not None:
                key = (step.role, step.tasks, host_of(node, self._world.settings))
                steps[key] = step
                groups.setdefault(key, []).append(node.uuid)
        return [
            _run(steps[key], members[start : start + size], host=key[2])
            for key, members in groups.items()
            for size in [self._world.settings.wave_size * (BROAD if steps[key].batched else 1)]
            for start in range(0, len(members), size)
        ]

    def conclude(self, seen: Mapping[str, Look]) -> None:
        """Do with each node what follows from what was seen; nothing is stored of those that are as recorded."""
        if not self._world.settings.enable_health_monitoring:
            seen = {uuid: replace(look, health=None) for uuid, look in seen.items()}
        for uuid, look in seen.items():
            self.ways.learn(uuid, None if look.state is None else look.way)
        surprising = list(self._surprising(seen))
        enforced: list[str] = []
        for start in range(0, len(surprising), TOGETHER):
            enforced += self._conclude(surprising[start : start + TOGETHER], seen)
        for uuid in enforced:
            self._enforce(uuid)

    def _surprising(self, seen: Mapping[str, Look]) -> Iterator[str]:
        """Yield the nodes that are not as they are recorded."""
        with reading(self._world.database) as session:
            known = power.recorded(list(seen), session=session)
        same = 0
        for node in known:
            if not node.maintenance and _is_recorded(node, seen[node.uuid]):
                same += 1
                with self._lock:
                    self._failures.pop(node.uuid, None)
            else:
                yield node.uuid
        if same:
            POWER_LOOKS.note(same, verdict=Verdict.NOTHING.value)

    def _conclude(self, uuids: Sequence[str], seen: Mapping[str, Look]) -> list[str]:
        """Store what follows for some nodes in one transaction; return those whose power state is to be enforced."""
        with telling(self._world.nova) as news, self._world.acting() as session:
            verdicts = {}
            for node in power.idle(uuids, session=session):
                with about(node=node.uuid), news.watching(node):
                    verdicts[node.uuid] = self._carry_out(node, seen[node.uuid], session)
            session.commit()
        return [uuid for uuid, verdict in verdicts.items() if verdict is Verdict.ENFORCE]

    def _carry_out(self, node: Node, look: Look, session: Session) -> Verdict:
        verdict, since = self._judge(node, look)
        node.health = look.health or node.health
        match verdict:
            case Verdict.STORE:
                node.power_state = look.state
            case Verdict.GIVE_UP:
                self._give_up(node, look, since, session)
            case Verdict.RECOVER:
                node.power_state = look.state
                node.maintenance, node.maintenance_reason, node.fault = False, None, None
        session.add(node)
        return verdict

    def _judge(self, node: Node, look: Look) -> tuple[Verdict, datetime]:
        """Return what to do, and since when the looks have gone wrong."""
        settings = self._world.settings
        with self._lock:
            count, since = self._failures.pop(node.uuid, (0, self._world.clock()))
            verdict, failures = judge(
                node,
                look,
                count,
                most=settings.power_state_sync_max_retries,
                force=settings.force_power_state_during_sync,
            )
            if failures:
                self._failures[node.uuid] = (failures, since)
        POWER_LOOKS.note(verdict=verdict.value)
        bmc_errors.count(node, look.kind)
        return verdict, since

    def _enforce(self, uuid: str) -> None:
        """Have the recorded power state set on the machine, unless something has begun on the node meanwhile."""
        with self._world.acting() as session, about(node=uuid):
            for node in power.idle([uuid], session=session):
                logger.warning("A power state is enforced", extra={"node": uuid, "state": node.power_state})
                plan.start_power(
                    session=session,
                    settings=self._world.settings,
                    catalog=self._world.catalog,
                    node=node,
                    target=str(node.power_state),
                )
                session.add(node)
            session.commit()

    def _give_up(self, node: Node, look: Look, since: datetime, session: Session) -> None:
        count, begin = self._world.settings.power_state_sync_max_retries, since.isoformat(timespec="seconds")
        if look.state is None:
            cause = f"Since {begin} the power state could not be read, {count + 1} times: {look.error.rstrip('.')}."
        else:
            cause = (
                f"Since {begin} the machine stays in {look.state} although {node.power_state} was set {count} times."
            )
        text = cut(f"{cause} Check the BMC and its credentials; maintenance ends when the BMC answers again.", 4096)
        node.power_state = look.state
        node.maintenance, node.fault, node.maintenance_reason = True, FAULT, text
        transitions.record(node, text, session=session, settings=self._world.settings, event_type="power sync")

    def _reader(self, node: Node) -> Step | None:
        for phase in (Phase.POWER, Phase.VERIFY):
            try:
                return composition.single(node, phase, READ, self._world.catalog, kind=Interface.POWER)
            except RackwrightError:
                continue
        return None


def _run(step: Step, members: Sequence[str], *, host: str) -> LiveRun:
    return LiveRun(new_uuid(), Phase.POWER, (step,), 0, dict.fromkeys(members), host=host)


def _is_recorded(node: Recorded, look: Look) -> bool:
    """Tell whether nothing was seen that is not known already."""
    return node.power_state == look.state is not None and look.health in (node.health, None)


def _due(session: Session, *, recovering: bool) -> Sequence[Node]:
    """Return the nodes to look at: idle ones in a state whose power is compared."""
    if recovering:
        return power.unwatched(FAULT, session=session)
    return power.watched([state for state in ProvisionState if state.traits.power_sync], session=session)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Compare the recorded power states with the machines', many nodes in one run that only looks.

Source: contract/engine.md section 3. The verdict on one node is a pure function.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from sqlmodel import Session

from rackwright.domain.errors import NodeNotFound, RackwrightError
from rackwright.domain.outcomes import cut
from rackwright.domain.states import ProvisionState
from rackwright.domain.steps import Step
from rackwright.domain.verbs import Phase
from rackwright.engine import bmc_errors, composition, plan, transitions
from rackwright.engine.hosts import host_of
from rackwright.engine.live import LiveRun
from rackwright.engine.world import World
from rackwright.store import node as nodes
from rackwright.store import operation as rows
from rackwright.store import work
from rackwright.store.columns import new_uuid
from rackwright.store.node import Node
from rackwright.store.session import reading
from rackwright.telemetry.facts import about
from rackwright.telemetry.numbers import POWER_LOOKS

logger = logging.getLogger(__name__)

FAULT = "power failure"
PLAYBOOK = "rackwright.metal.power_sync"
READ = "read_power_state"
"""The step that only looks."""


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
    error: str = ""
    kind: str = ""
    """What kind of error of the BMC it is; empty for none."""


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
    """Knows how often in a row the look at each node went wrong."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._failures: dict[str, int] = {}
        self._lock = threading.Lock()

    def runs(self, *, recovering: bool, apart_from: Collection[str] = ()) -> list[LiveRun]:
        """Return the runs that look at all nodes that are due: broken ones when ``recovering``, else the others."""
        with reading(self._world.database) as session:
            due = _due(session, recovering=recovering)
        mine = [node for node in due if node.uuid not in apart_from and self._world.membership.owns(node)]
        return self._grouped(mine)

    def runs_at(self, uuids: Sequence[str]) -> list[LiveRun]:
        """Return the runs that look at these nodes, without those whose power nobody can read."""
        with reading(self._world.database) as session:
            return self._grouped(nodes.find(session=session, uuids=uuids))

    def _grouped(self, due: Sequence[Node]) -> list[LiveRun]:
        groups: dict[tuple[str, str, str], list[str]] = {}
        steps: dict[tuple[str, str, str], Step] = {}
        for node in due:
            step = self._reader(node)
            if step is not None:
                key = (step.role, step.tasks, host_of(node, self._world.settings))
                steps[key] = step
                groups.setdefault(key, []).append(node.uuid)
        size = self._world.settings.wave_size
        return [
            _run(steps[key], members[start : start + size], host=key[2])
            for key, members in groups.items()
            for start in range(0, len(members), size)
        ]

    def conclude(self, seen: Mapping[str, Look]) -> None:
        """Do with each node what follows from what was seen."""
        for uuid, look in seen.items():
            with self._world.acting() as session, about(node=uuid):
                try:
                    node = nodes.get(uuid, session=session, lock=True)
                except NodeNotFound:
                    continue
                if _is_idle(node, session):
                    self._conclude(node, look, session)
                    session.commit()

    def _conclude(self, node: Node, look: Look, session: Session) -> None:
        settings = self._world.settings
        with self._lock:
            verdict, failures = judge(
                node,
                look,
                self._failures.pop(node.uuid, 0),
                most=settings.power_state_sync_max_retries,
                force=settings.force_power_state_during_sync,
            )
            if failures:
                self._failures[node.uuid] = failures
        POWER_LOOKS.note(verdict=verdict.value)
        bmc_errors.count(node, look.kind)
        match verdict:
            case Verdict.STORE:
                node.power_state = look.state
            case Verdict.ENFORCE:
                logger.warning("A power state is enforced", extra={"node": node.uuid, "state": node.power_state})
                self._enforce(node, session)
            case Verdict.GIVE_UP:
                self._give_up(node, look, session)
            case Verdict.RECOVER:
                node.power_state = look.state
                node.maintenance, node.maintenance_reason, node.fault = False, None, None
        session.add(node)

    def _enforce(self, node: Node, session: Session) -> None:
        plan.start_power(
            session=session,
            settings=self._world.settings,
            catalog=self._world.catalog,
            node=node,
            target=str(node.power_state),
        )

    def _give_up(self, node: Node, look: Look, session: Session) -> None:
        count = self._world.settings.power_state_sync_max_retries
        if look.state is None:
            cause = f"The power state could not be read {count + 1} times in a row: {look.error.rstrip('.')}."
        else:
            cause = f"The machine stays in {look.state} although {node.power_state} was set {count} times."
        text = cut(f"{cause} Check the BMC and its credentials; maintenance ends when the BMC answers again.", 4096)
        node.power_state = look.state
        node.maintenance, node.fault, node.maintenance_reason = True, FAULT, text
        transitions.record(node, text, session=session, settings=self._world.settings, event_type="power sync")

    def _reader(self, node: Node) -> Step | None:
        for phase in (Phase.POWER, Phase.VERIFY):
            try:
                return composition.single(node, phase, READ, self._world.catalog)
            except RackwrightError:
                continue
        return None


def _run(step: Step, members: Sequence[str], *, host: str) -> LiveRun:
    return LiveRun(new_uuid(), Phase.POWER, (step,), 0, dict.fromkeys(members), host=host)


def _due(session: Session, *, recovering: bool) -> Sequence[Node]:
    """Return the nodes to look at: idle ones in a state whose power is compared."""
    if recovering:
        return work.power_unwatched(FAULT, session=session)
    return work.power_watched([state for state in ProvisionState if state.traits.power_sync], session=session)


def _is_idle(node: Node, session: Session) -> bool:
    """Tell whether nothing happened to the node while it was looked at."""
    if node.reservation is not None or node.target_power_state is not None:
        return False
    return rows.unfinished_of(node.id or 0, session=session) is None

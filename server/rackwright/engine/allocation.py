# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Find nodes for allocations (contract: engine.md section 8).

A node is chosen and given in one transaction, so that a death in between leaves nothing: whoever comes next finds the
allocation still waiting. Nodes whose power nobody has read yet are looked at before they are given.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlmodel import Session

from rackwright.domain.errors import AllocationFailed, AllocationNotFound, NodeNotFound
from rackwright.domain.outcomes import cut
from rackwright.domain.states import ProvisionState
from rackwright.engine.live import LiveRun
from rackwright.engine.power_sync import Look, PowerSync
from rackwright.engine.world import World
from rackwright.store import allocation as allocations
from rackwright.store import node as nodes
from rackwright.store.allocation import ALLOCATIONS, Allocation, AllocationState
from rackwright.store.node import Node
from rackwright.store.paging import Page
from rackwright.store.session import reading

RETRIES = 3
"""How often nodes that somebody else holds are tried again."""

PAUSE = 1.0
"""Seconds between two such tries."""

Row = Mapping[str, Any]

_COLUMNS = (
    *("uuid", "name", "provision_state", "maintenance", "instance_uuid", "traits", "power_state"),
    *("resource_class", "owner", "lessee", "parent_node"),
)


@dataclass(frozen=True, slots=True)
class Hurdle:
    """A condition that a node must meet."""

    met: Callable[[Row, Allocation], bool]
    phrase: str
    """What it demands, so that "the node ..." is a sentence."""
    action: str
    """What an operator does where no node meets it."""


_FITTING = (
    Hurdle(
        lambda node, wish: (
            node["resource_class"] == wish.resource_class
            and node["parent_node"] is None
            and (wish.owner is None or wish.owner in (node["owner"], node["lessee"]))
        ),
        "has the resource class {resource_class}{whose}",
        "Set it on a node, or ask for another one.",
    ),
    Hurdle(
        lambda node, wish: not wish.candidate_nodes or node["uuid"] in wish.candidate_nodes,
        "is one of the candidate_nodes",
        "Name other candidate_nodes, or none.",
    ),
    Hurdle(
        lambda node, wish: set(wish.traits) <= set(node["traits"]),
        "has all of the traits {traits}",
        "Ask for fewer traits, or set them on a node.",
    ),
)
"""What never changes by itself."""

HURDLES = (
    *_FITTING,
    Hurdle(
        lambda node, _: node["provision_state"] == ProvisionState.AVAILABLE,
        "is in state available",
        "Provide one, or undeploy one that is no longer wanted.",
    ),
    Hurdle(
        lambda node, _: node["instance_uuid"] is None,
        "is without an instance",
        "Provide another one, or delete an allocation that is no longer wanted.",
    ),
    Hurdle(
        lambda node, _: not node["maintenance"],
        "is out of maintenance",
        "Look at their maintenance_reason and clear the flag.",
    ),
)
"""All conditions, in the order in which they are told."""


def eligible(allocation: Allocation, rows: Sequence[Row]) -> list[Row]:
    """Return the nodes that meet every condition; raise AllocationFailed, which names the first that none meets."""
    left = list(rows)
    for hurdle in HURDLES:
        before, left = len(left), [row for row in left if hurdle.met(row, allocation)]
        if not left:
            who = _none_of(before)
            raise _failed(allocation, hurdle, f"{who} {{phrase}}")
    return left


def _none_of(count: int) -> str:
    if count > 1:
        return f"none of the {count} nodes that fit so far"
    return "not even the one node that fits so far" if count else "no node"


def _failed(allocation: Allocation, hurdle: Hurdle, cause: str) -> AllocationFailed:
    owner, traits = allocation.owner, ", ".join(allocation.traits)
    whose = f" and belongs to project {owner} as its owner or lessee" if owner else ""
    phrase = hurdle.phrase.format(resource_class=allocation.resource_class, whose=whose, traits=traits)
    return AllocationFailed(uuid=allocation.uuid, cause=cause.format(phrase=phrase), action=hurdle.action)


def preferred(allocation: Allocation, rows: Iterable[Row]) -> list[Row]:
    """Return nodes in the order in which they are tried.

    First the one that has the allocation's name, then those whose power is known, else by chance.
    """

    def rank(row: Row) -> tuple[bool, bool, float]:
        namesake = allocation.name is not None and row["name"] == allocation.name
        return not namesake, row["power_state"] is None, random.random()

    return sorted(rows, key=rank)


def _order(allocation: Allocation, session: Session) -> list[Row]:
    """Return the nodes that fit, in the order in which they are tried; raise AllocationFailed."""
    if nodes.taken("instance_uuid", allocation.uuid, session=session):
        raise AllocationFailed(
            uuid=allocation.uuid,
            cause="an instance with this UUID is on a node already",
            action="Allocate again with another uuid, or give that node as node.",
        )
    wanted = {"resource_class": allocation.resource_class, "include_children": False}
    if allocation.owner is not None:
        wanted["project"] = allocation.owner
    rows = nodes.listed(_COLUMNS, session=session, page=Page(), filters=wanted)
    return preferred(allocation, eligible(allocation, rows))


def backfill(allocation: Allocation, node: Node) -> None:
    """Give an allocation the node that an instance uses already; raise AllocationFailed when it does not fit."""
    if node.provision_state != ProvisionState.ACTIVE:
        raise AllocationFailed(
            uuid=allocation.uuid,
            cause=f"node {node.uuid} is in state {node.provision_state}, but only an active one can be given this way",
            action="Deploy or adopt it first, or leave node out.",
        )
    row = node.model_dump()
    for hurdle in _FITTING:
        if not hurdle.met(row, allocation):
            raise _failed(allocation, hurdle, f"node {node.uuid} is not one that {{phrase}}")
    give(allocation, node)


def give(allocation: Allocation, node: Node) -> None:
    """Give a node to an allocation."""
    node.instance_uuid = node.allocation_uuid = allocation.uuid
    node.instance_info = {**node.instance_info, "traits": list(allocation.traits)}
    allocation.node_uuid, allocation.last_error = node.uuid, None
    allocation.state = AllocationState.ACTIVE.value


def take_back(node: Node, *, session: Session) -> None:
    """Remove the allocation that has this node, and what it has put on it."""
    found = allocations.of_node(node.uuid, session=session)
    if found is None:
        return
    node.instance_uuid = node.allocation_uuid = None
    node.instance_info = {key: value for key, value in node.instance_info.items() if key != "traits"}
    session.add(node)
    session.delete(found)


@dataclass(slots=True)
class _Memory:
    """What is known beyond the rows; the next conductor finds it out again."""

    looks: dict[str, Look | None] = field(default_factory=dict)
    """What was seen of a node, None as long as a run looks at it."""
    tries: dict[str, int] = field(default_factory=dict)
    """How often an allocation found only nodes that others held."""
    wake_at: dict[str, datetime] = field(default_factory=dict)
    """When such an allocation is tried again."""

    def keep(self, waiting: Sequence[str]) -> None:
        """Forget what belongs to no waiting allocation."""
        if not waiting:
            self.looks = {}
        self.tries = {uuid: count for uuid, count in self.tries.items() if uuid in waiting}
        self.wake_at = {uuid: at for uuid, at in self.wake_at.items() if uuid in waiting}


class Allocator:
    """Takes up the allocations that wait."""

    def __init__(self, world: World, power: PowerSync) -> None:
        self._world, self._power = world, power
        self._memory = _Memory()

    def remembers(self) -> bool:
        """Tell whether something is to be forgotten when no allocation waits any more."""
        return bool(self._memory.looks or self._memory.tries or self._memory.wake_at)

    def next_look(self) -> datetime | None:
        """Return when an allocation is to be tried again."""
        return min(self._memory.wake_at.values(), default=None)

    def learn(self, asked: Iterable[str], seen: Mapping[str, Look]) -> None:
        """Take what a run saw of the nodes that it was asked to look at."""
        for uuid in asked:
            if uuid in self._memory.looks:
                self._memory.looks[uuid] = seen.get(uuid, Look(error="the look at it ended without an answer"))

    def work(self) -> list[LiveRun]:
        """Deal with every allocation that waits; return the runs that must look at nodes first."""
        with reading(self._world.database) as session:
            waiting = allocations.waiting(session=session)
        self._memory.keep(waiting)
        unread: dict[str, None] = {}
        for uuid in waiting:
            if self._memory.wake_at.get(uuid, self._world.clock()) <= self._world.clock():
                unread |= dict.fromkeys(self._take_up(uuid))
        if not unread:
            return []
        # Nobody wakes us for a node that no run looks at.
        self._memory.wake_at |= dict.fromkeys(waiting, self._world.clock())
        return self._look_at(list(unread))

    def _take_up(self, uuid: str) -> list[str]:
        """Give an allocation its node, or say why there is none; return nodes that must be looked at first."""
        self._memory.wake_at.pop(uuid, None)
        with self._world.acting() as session:
            try:
                allocation = ALLOCATIONS.get(uuid, session=session, lock=True)
            except AllocationNotFound:
                return []
            if allocation.state != AllocationState.ALLOCATING:
                return []
            try:
                unread = self._choose(allocation, session)
            except AllocationFailed as error:
                unread = []
                allocation.state, allocation.last_error = AllocationState.ERROR.value, cut(str(error), 4096)
            session.add(allocation)
            session.commit()
            return unread

    def _choose(self, allocation: Allocation, session: Session) -> list[str]:
        order = _order(allocation, session)
        silent: list[str] = []
        for row in order:
            uuid = row["uuid"]
            if row["power_state"] is not None:
                if self._hold(allocation, uuid, session):
                    return []
            elif uuid not in self._memory.looks:
                return self._unread(order)
            elif (look := self._memory.looks[uuid]) is None:
                return []
            elif look.error:
                silent.append(f"{row['name'] or uuid}: {look.error.rstrip('.')}")
            else:
                del self._memory.looks[uuid]  # it was busy, so that what was seen was not recorded
        self._try_later(allocation, order, silent)
        return []

    def _unread(self, order: Sequence[Row]) -> list[str]:
        found = [row["uuid"] for row in order if row["power_state"] is None and row["uuid"] not in self._memory.looks]
        return found[: self._world.settings.wave_size]

    def _look_at(self, uuids: Sequence[str]) -> list[LiveRun]:
        runs = self._power.runs_at(uuids)
        covered = {uuid for run in runs for uuid in run.operations}
        unreadable = Look(error="its power interface cannot be read")
        self._memory.looks |= {uuid: None if uuid in covered else unreadable for uuid in uuids}
        return runs

    def _hold(self, allocation: Allocation, uuid: str, session: Session) -> bool:
        """Give a node to the allocation unless somebody was faster; tell whether that was so."""
        try:
            node = nodes.get(uuid, session=session, lock=True)
            eligible(allocation, [node.model_dump()])
        except (NodeNotFound, AllocationFailed):
            return False
        if node.reservation is not None:
            return False
        give(allocation, node)
        session.add(node)
        return True

    def _try_later(self, allocation: Allocation, order: Sequence[Row], silent: Sequence[str]) -> None:
        """Note the next try; raise AllocationFailed when there is none."""
        uuid = allocation.uuid
        tries = self._memory.tries.get(uuid, 0)
        if len(silent) == len(order):
            raise AllocationFailed(
                uuid=uuid,
                cause=f"the power of no node that is left can be read ({'; '.join(silent)})",
                action="Check the BMCs and their credentials.",
            )
        if tries >= RETRIES:
            raise AllocationFailed(
                uuid=uuid,
                cause=f"every node that is left was held by somebody else in {tries + 1} tries",
                action="Wait until their operations have ended, then allocate again.",
            )
        self._memory.tries[uuid] = tries + 1
        self._memory.wake_at[uuid] = self._world.clock() + timedelta(seconds=PAUSE)

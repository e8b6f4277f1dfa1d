# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Take up what a conductor left behind that died.

Runs die with their conductor, so at its start none goes on: what they held is ready again, and every step looks first.
"""

from __future__ import annotations

import logging
import math
import shutil
from collections.abc import Sequence
from pathlib import Path

from sqlmodel import Session

from rackwright.domain.states import Event, ProvisionState
from rackwright.domain.verbs import PHASES
from rackwright.engine import operations, transitions
from rackwright.engine.live import LiveRuns
from rackwright.engine.world import World
from rackwright.store import node as nodes
from rackwright.store import operation as rows
from rackwright.store import work
from rackwright.store.node import Node
from rackwright.store.operation import OperationStatus
from rackwright.store.session import reading

logger = logging.getLogger(__name__)

KEPT_RUNS = 20
"""Folders of dead runs that stay, the newest ones, for whoever looks for the cause."""


def recover(world: World) -> None:
    """Make everything ready that we ran, release what nobody holds, remove what belongs to nothing."""
    with reading(world.database) as session:
        running = _running(session, world)
    with world.acting() as session:
        for uuid, _ in running:
            found = work.locked(uuid, session=session)
            if found is None or found[0].status != OperationStatus.RUNNING:
                continue
            logger.info("An operation is taken up again", extra={"operation": uuid})
            operations.give_back(found[0])
            session.add(found[0])
        for node in work.deserted(BUSY, world.settings.conductor_host, session=session):
            _free_locked(node.uuid, session, world)
        session.commit()
    remove_files(world, LiveRuns())


def adopt_orphans(world: World, runs: LiveRuns) -> None:
    """Give a new run to operations whose run has ended without a word about them, as when the database was away."""
    with reading(world.database) as session:
        lost = [uuid for uuid, run in _running(session, world) if runs.get(run or "") is None]
    if not lost:
        return
    with world.acting() as session:
        for uuid, (operation, node) in work.all_locked(lost, session=session).items():
            if operation.status != OperationStatus.RUNNING or runs.get(operation.run_id or ""):
                continue
            logger.warning("An operation lost its run", extra={"operation": uuid, "node": node.uuid})
            operations.requeue(operation, node, "its end was not stored", session=session, world=world)
            session.add_all((operation, node))
        session.commit()


def _running(session: Session, world: World) -> Sequence[tuple[str, str | None]]:
    """Return the running operations that are ours, each with its run: all of them where nobody else is."""
    return work.running(world.settings.conductor_host if world.membership.shares else None, session=session)


HOLDS = tuple(traits.hold for traits in PHASES.values() if traits.hold)
BUSY = (*(state for state in ProvisionState if state.traits.unstable_list), *HOLDS)
"""States that only an operation leads out of."""


def _free_locked(uuid: str, session: Session, world: World) -> None:
    node = nodes.get(uuid, session=session, lock=True)
    left = node.reservation == world.settings.conductor_host or node.provision_state in BUSY
    if left and rows.unfinished_of(node.id or 0, session=session) is None:
        free(node, session, world)


def free(node: Node, session: Session, world: World) -> None:
    """Let go of a node that nothing is done with; a state that only an operation leads out of has failed."""
    node.reservation = node.target_power_state = None
    state = ProvisionState(node.provision_state)
    if state in BUSY:
        transitions.move(node, Event.ABORT if state in HOLDS else Event.FAIL, at=world.clock())
        node.last_error = f"State {state} was left without an operation when the daemon stopped; repeat the operation."
        transitions.record(
            node, node.last_error, session=session, settings=world.settings, event_type="startup failure"
        )
    session.add(node)


def remove_files(world: World, runs: LiveRuns) -> None:
    """Remove boot media that nobody needs, and folders of dead runs but the newest."""
    dead = [path for path in _entries(world.settings.state_dir / "runs") if runs.get(path.name) is None]
    for folder in sorted(dead, key=changed_at, reverse=True)[KEPT_RUNS:]:
        shutil.rmtree(folder, ignore_errors=True)
    remove_media(world)


def changed_at(path: Path) -> float:
    """Return when a file was changed, seconds of the epoch; never, where it has gone meanwhile."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return math.inf


def remove_media(world: World) -> None:
    """Remove boot media and images of operations that are over, unless an agent that they booted still runs.

    Another conductor may have ended an operation, which cannot reach what this one had made ready for it.
    """
    found = [*_entries(world.settings.boot_dir), *_entries(world.settings.image_dir)]
    with reading(world.database) as session:
        kept = work.unfinished_uuids(session=session) | work.told_by_nodes(transitions.AGENT_BOOT, session=session)
    for medium in found:
        if medium.name.split(".")[0] not in kept:
            medium.unlink(missing_ok=True)


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []

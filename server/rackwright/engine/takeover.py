# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Take over what conductors held that are dead.

Source: contract/engine.md section 1 (orphans, take over). There the operations fail; here they go on with their current
step, which looks first.
"""

from __future__ import annotations

import logging

from rackwright.engine import operations, power_news, recovery
from rackwright.engine.world import World
from rackwright.store import conductor as conductors
from rackwright.store import node as nodes
from rackwright.store import operation as rows
from rackwright.store import work
from rackwright.store.operation import OperationStatus
from rackwright.store.session import reading

logger = logging.getLogger(__name__)


def relieve(world: World) -> None:
    """End the epoch of conductors that are silent for too long, and free what is held by conductors that are gone."""
    if not world.membership.may_judge():
        return
    with world.acting() as session:
        silent = conductors.fence_silent(world.settings.heartbeat_timeout, session=session)
        for host in silent:
            logger.warning("A conductor is silent; its nodes are taken over", extra={"conductor": host})
        conductors.forget(world.settings.conductor_cleanup_timeout, session=session)
        session.commit()
    with reading(world.database) as session:
        lost = work.abandoned(session=session)
        forsaken = [node.uuid for node in work.forsaken(session=session)]
    for uuid in lost:
        _give_back(uuid, world)
    for uuid in forsaken:
        _free(uuid, world)
    if silent:
        power_news.tell_again(world)


def _give_back(uuid: str, world: World) -> None:
    """Make an operation ready again whose conductor is gone; its run's lines count no more."""
    with world.acting() as session:
        found = work.locked(uuid, session=session, wait=False)
        if found is None or found[0].status != OperationStatus.RUNNING:
            return
        operation, node = found
        if not conductors.is_gone(node.reservation, session=session):
            return
        logger.warning("An operation is taken over", extra={"operation": uuid, "from": node.reservation})
        operations.give_back(operation)
        node.reservation = None
        session.add_all((operation, node))
        session.commit()


def _free(uuid: str, world: World) -> None:
    with world.acting() as session:
        node = nodes.get(uuid, session=session, lock=True)
        idle = rows.unfinished_of(node.id or 0, session=session) is None
        if idle and node.reservation is not None and conductors.is_gone(node.reservation, session=session):
            recovery.free(node, session, world)
            session.commit()

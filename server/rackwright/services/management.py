# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Questions to a BMC that a client waits for: the engine runs them, we look for the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from time import monotonic
from typing import Any

from anyio.to_thread import run_sync
from sqlalchemy import Engine

from rackwright.domain.errors import OperationFailed, Unavailable
from rackwright.domain.verbs import Interface
from rackwright.engine import plan
from rackwright.services import nodes, validate
from rackwright.services.context import Context, check_unlocked
from rackwright.store import operation as operations
from rackwright.store.operation import UNFINISHED, OperationStatus
from rackwright.store.session import reading, writing

_LONGEST = 60.0  # seconds that a client waits for an answer
_PAUSE = 0.05


async def ask(ident: str, step: str, args: Mapping[str, Any] | None = None, *, context: Context) -> dict[str, Any]:
    """Return what a management step finds out about a node.

    Raise NodeNotFound, NodeLocked, Invalid when the node's interface has no such step, OperationFailed with the text of
    the failure, or Unavailable when no answer comes in time; the step then goes on by itself.
    """
    uuid = await run_sync(_start, ident, step, args or {}, context)
    end = monotonic() + _LONGEST
    while (found := await run_sync(_look, uuid, context.engine)) is None:
        if monotonic() > end:
            raise Unavailable(f"The BMC of node {ident} has not answered {step} in {_LONGEST:.0f} s; try again later.")
        await asyncio.sleep(_PAUSE)
    return found


def _start(ident: str, step: str, args: Mapping[str, Any], context: Context) -> str:
    with writing(context.engine) as session:  # the session of a GET only reads
        node = nodes.get(ident, context=replace(context, session=session), lock=True)
        check_unlocked(node)
        validate.check(node, Interface.MANAGEMENT, attempted=step, context=context)
        operation = plan.start_query(
            session=session,
            settings=context.settings,
            catalog=context.catalog,
            node=node,
            step=step,
            args=dict(args),
            user=context.user,
        )
        session.commit()
        return operation.uuid


def _look(uuid: str, engine: Engine) -> dict[str, Any] | None:
    """Return the answer, None as long as there is none."""
    with reading(engine) as session:
        operation = operations.get(uuid, session=session)
    if operation is None:
        raise OperationFailed("The node was removed before its BMC answered.")
    if operation.status == OperationStatus.DONE:
        return operation.facts
    if operation.status in UNFINISHED:
        return None
    raise OperationFailed(operation.error or "The question to the BMC was ended without an answer; ask again.")

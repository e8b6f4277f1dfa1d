# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The operations of a node: what was asked of it, when, how the time was spent, and what it waits for now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from rackwright.domain.errors import NodeNotFound
from rackwright.engine import timeline
from rackwright.engine.admission import LIMITS, Place, limits_of, places
from rackwright.engine.hosts import host_of
from rackwright.services import access
from rackwright.services.context import Context
from rackwright.store import node as nodes
from rackwright.store import operation as operations
from rackwright.store import work
from rackwright.store.columns import now
from rackwright.store.node import Node
from rackwright.store.operation import UNFINISHED, Operation, OperationStatus

_SHOWN = ("uuid", "phase", "verb", "status", "user", "error", "started_at", "finished_at", "timeline")
_TOLD = ("uuid", "phase", "verb", "status", "error", "started_at", "finished_at")
_WAITS = ("waits_for", "wake_at", "deadline_at")
_WHY = {
    OperationStatus.READY: "It is ready, and queued until a conductor has a free run for it.",
    OperationStatus.RUNNING: "A playbook run has it.",
}
_LIMITED = "It is ready, and waits until runs work on fewer nodes of the {kind} {place}: {setting} is {limit}."
_HINDERED = "It is ready, and waits until runs can be carried out: {why}"
_WHY_WAITING = {
    "agent": "It waits for the next heartbeat of its agent: the machine boots, or the agent works.",
    "inspection": "It waits for the inspection report of its agent.",
    "poll": "It waits until it is time to look at the machine again.",
    "children": "It waits for its child nodes, which take the step.",
    None: "It holds until a client sends unhold or abort.",
}


def of_node(ident: str, *, context: Context) -> list[dict[str, Any]]:
    """Return the operations of a node, oldest first; raise NodeNotFound or Forbidden."""
    _, found = _found(ident, context)
    return [each.model_dump(mode="json", include=set(_SHOWN)) for each in found]


def timeline_of(ident: str, *, context: Context) -> dict[str, Any]:
    """Return where the time of a node went and what it waits for now; raise NodeNotFound or Forbidden."""
    node, found = _found(ident, context)
    at = now()
    return {
        "node_uuid": node.uuid,
        "provision_state": node.provision_state,
        "now": _now(node, found, context),
        "operations": [
            {**each.model_dump(mode="json", include=set(_TOLD)), **timeline.told(each, at=at)} for each in found
        ],
    }


def _found(ident: str, context: Context) -> tuple[Node, Sequence[Operation]]:
    node = nodes.get(ident, session=context.session)  # not Ironic's: a name is known at every version
    access.see(node, context=context, hidden=NodeNotFound(ident=ident))
    access.demand("baremetal:node:history:get", node, context=context)
    return node, operations.of_node(node.id or 0, session=context.session)


def _now(node: Node, found: Sequence[Operation], context: Context) -> dict[str, Any] | None:
    """Return what the node does now, why it does not go on, and until when; None where nothing goes on."""
    under_way = [each for each in found if each.status in UNFINISHED]
    if not under_way:
        return None
    operation = under_way[-1]
    status = OperationStatus(operation.status)
    why = _WHY_WAITING[operation.waits_for] if status is OperationStatus.WAITING else _WHY[status]
    if status is OperationStatus.READY:
        why = next(_obstacles(node, context), why)
    shown = node.driver_internal_info.get(timeline.SHOWN) or {}
    steps = operation.steps[operation.position : operation.position + 1]
    return {
        "operation": operation.uuid,
        "phase": operation.phase,
        "step": f"{steps[0]['interface']}.{steps[0]['name']}" if steps else None,
        "index": operation.position,
        "count": len(operation.steps),
        "activity": shown.get("activity", timeline.Activity.QUEUED.value),
        "why": why,
        **operation.model_dump(mode="json", include=set(_WAITS)),
    }


def _obstacles(node: Node, context: Context) -> Iterator[str]:
    """Yield what keeps a node from a run that is ready: a limit of what it shares, or the trouble of its host."""
    settings = context.settings
    host, mine, limits = host_of(node, settings), places(node, settings), limits_of(settings)
    taken, hindered = Counter[Place](), list[str]()
    for _, status, other in work.whereabouts(session=context.session):
        if status == OperationStatus.RUNNING:
            taken.update(mine & places(other, settings))
        elif host_of(other, settings) == host:
            hindered += filter(None, [(other.driver_internal_info.get(timeline.SHOWN) or {}).get("why")])
    for kind, place in sorted(mine):
        if limits[kind] and taken[kind, place] >= limits[kind]:
            yield _LIMITED.format(kind=kind, place=place, setting=LIMITS[kind], limit=limits[kind])
    yield from (_HINDERED.format(why=why) for why in hindered)

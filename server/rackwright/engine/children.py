# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A step that the child nodes take for their parent: each child gets an operation of its own, the parent waits.

A step that the parent takes for a child, whose power comes from it, goes the same way. The provision state of the other
nodes stays as it is. A child that somebody else works on is waited for, until the parent's deadline. Source:
``contract/engine.md`` sections 3 (children's power) and 4 (execute_on_child_nodes).
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlmodel import Session

from rackwright.domain.errors import NodeLocked, RackwrightError
from rackwright.domain.outcomes import Failed, WaitFor, Waiting
from rackwright.domain.steps import Step, Steps
from rackwright.domain.verbs import Phase
from rackwright.engine import composition, family, operations
from rackwright.engine.ring import host_of
from rackwright.engine.world import World
from rackwright.store import node as nodes
from rackwright.store import operation as rows
from rackwright.store.node import Node
from rackwright.store.operation import Operation, OperationStatus

_ADVICE = "Look at the other nodes, correct the cause and repeat the operation."


def carry_out(operation: Operation, node: Node, step: Step, *, session: Session, world: World) -> None:
    """Have the children take the step; when all have taken it, go on, and when one could not, fail."""
    operations.begin(operation, node, world=world)
    try:
        asked, busy = _ask(operation, node, step, session, world)
    except RackwrightError as error:
        failed = Failed(step.key, str(error), _ADVICE)
        operations.end_step(operation, node, failed, session=session, world=world)
        return
    answers = {uuid: rows.get(asked[uuid], session=session) for uuid in asked}
    if busy or any(answer and not answer.finished_at for answer in answers.values()):
        operations.wait(operation, node, Waiting(WaitFor.CHILDREN), world=world)
    elif causes := [text for uuid, answer in answers.items() if (text := _failure(step, uuid, answer))]:
        failed = Failed(step.key, "; ".join(causes), _ADVICE)
        operations.end_step(operation, node, failed, session=session, world=world)
    else:
        operations.finish_leg(operation, node, operation.position, session=session, world=world)


def _ask(
    operation: Operation, node: Node, step: Step, session: Session, world: World
) -> tuple[Mapping[str, str], bool]:
    """Start what can be started; return the operation of each child, and whether one could not be had yet."""
    key = f"children_{operation.position}"
    asked: dict[str, str] = dict(operation.facts.get(key) or {})
    busy = False
    for child in family.relatives(node, step, session=session):
        if child.uuid in asked:
            continue
        steps = composition.of_child(child, step, world.catalog)
        try:
            asked[child.uuid] = _start(child, steps, operation, session=session, world=world).uuid
        except NodeLocked:
            if step.execute_on_parent:  # which may itself be about to wait for this node
                raise
            busy = True
    operation.facts = {**operation.facts, key: asked}
    return asked, busy


def _start(child: Node, steps: Steps, parent: Operation, *, session: Session, world: World) -> Operation:
    if rows.unfinished_of(child.id or 0, session=session) is not None:
        raise NodeLocked(node=child.uuid, host=child.reservation or world.settings.conductor_host)
    nodes.reserve(child, host_of(child, session=session, settings=world.settings), session=session)
    started = Operation(
        node_id=child.id or 0,
        phase=Phase.CHILD.value,
        request={"parent": parent.uuid},
        steps=composition.dumped(steps),
        user=parent.user,
        project=parent.project,
    )
    session.add_all((child, started))
    session.flush()
    return started


def _failure(step: Step, uuid: str, answer: Operation | None) -> str:
    who = f"{'parent' if step.execute_on_parent else 'child'} node {uuid}"
    if answer is None:
        return f"{who} was deleted meanwhile"
    if answer.status == OperationStatus.DONE:
        return ""
    return f"{who}: {(answer.error or 'its operation was ended').rstrip('.')}"

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Which child nodes a step of their parent is for, and whether they can take it; no effects."""

from __future__ import annotations

from collections.abc import Sequence

from sqlmodel import Session

from rackwright.catalog import Catalog
from rackwright.domain.errors import InvalidStep
from rackwright.domain.steps import Step, Steps
from rackwright.engine import composition
from rackwright.store import node as nodes
from rackwright.store.node import Node


def children(node: Node, step: Step, *, session: Session) -> Sequence[Node]:
    """Return the children that ``step`` is for; raise InvalidStep when it names a node that is no child."""
    found = {child.uuid: child for child in nodes.find(session=session, parent_node=node.uuid)}
    if strangers := sorted(set(step.limit_child_node_execution) - found.keys()):
        reason = f"limit_child_node_execution names {', '.join(strangers)}, no child of node {node.uuid}"
        raise InvalidStep(step=step.key, reason=reason)
    return [child for uuid, child in found.items() if uuid in (step.limit_child_node_execution or found)]


def check(node: Node, steps: Steps, *, session: Session, catalog: Catalog) -> None:
    """Raise InvalidStep, or a child of it, unless every child that a step is for can take it."""
    for step in steps:
        if step.execute_on_child_nodes:
            for child in children(node, step, session=session):
                composition.of_child(child, step, catalog)

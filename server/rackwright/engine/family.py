# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Which child nodes a step of their parent is for, and whether they can take it; what power needs; no effects."""

from __future__ import annotations

from collections.abc import Sequence

from sqlmodel import Session

from rackwright.catalog import Catalog
from rackwright.domain.errors import InvalidStep, NodeNotFound
from rackwright.domain.states import PowerState, PowerTarget
from rackwright.domain.steps import Step, Steps
from rackwright.domain.verbs import Interface, Phase
from rackwright.engine import composition
from rackwright.store import node as nodes
from rackwright.store.node import Node

OWN_SUPPLY = "has_dedicated_power_supply"
"""The key of driver_info that says that a child has power of its own, not its parent's."""

_YES = ("1", "t", "true", "on", "y", "yes")
_OFF = (PowerTarget.OFF, PowerTarget.SOFT_OFF)


def relatives(node: Node, step: Step, *, session: Session) -> Sequence[Node]:
    """Return the nodes that take ``step`` for this one: its parent or its children; raise as ``children`` does."""
    if step.execute_on_parent:
        return [each for each in (_parent(node, session),) if each is not None]
    return children(node, step, session=session)


def before_power(node: Node, target: PowerTarget, *, session: Session) -> Steps:
    """Return what other nodes do before the power of this one changes (contract: engine.md, section 3).

    Children that live on the node's power are powered off before it; where it lives on its parent's power, the parent
    is powered on first.
    """
    if target in _OFF:
        found = nodes.find(session=session, parent_node=node.uuid)
        fed = tuple(child.uuid for child in found if _is_fed(child) and child.power_state != PowerState.OFF)
        off = _power_step("power_off", execute_on_child_nodes=True, limit_child_node_execution=fed)
        return (off,) if fed else ()
    parent = _parent(node, session) if _is_fed(node) else None
    if parent is None or parent.power_state == PowerState.ON:
        return ()
    return (_power_step("power_on", execute_on_parent=True),)


def _power_step(name: str, **whom: object) -> Step:
    step = Step(name=name, phase=Phase.POWER, interface=Interface.POWER, abortable=True, needs_ramdisk=False)
    return step.model_copy(update=whom)


def _parent(node: Node, session: Session) -> Node | None:
    try:
        return nodes.get(node.parent_node, session=session) if node.parent_node else None
    except NodeNotFound:
        return None


def _is_fed(child: Node) -> bool:
    """Tell whether a child node lives on the power of its parent."""
    return str(child.driver_info.get(OWN_SUPPLY, "")).lower() not in _YES


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

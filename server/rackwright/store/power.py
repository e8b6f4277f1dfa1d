# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The queries of the power sync, which asks about all nodes again and again and so reads few columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement
from sqlalchemy.orm import load_only
from sqlmodel import Session, col, select

from rackwright.domain.verbs import Interface
from rackwright.store.node import Node
from rackwright.store.operation import Operation

_NAMES = ("uuid", "driver", "conductor_group", "properties", *(f"{kind}_interface" for kind in Interface))
_BRIEF = load_only(*(getattr(Node, name) for name in _NAMES), raiseload=True)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What is recorded of a node that nobody holds."""

    uuid: str
    power_state: str | None
    health: str | None
    maintenance: bool


def unwatched(fault: str, *, session: Session) -> Sequence[Node]:
    """Return idle nodes that are in maintenance because of ``fault``; only what chooses their run is loaded."""
    wanted = select(Node).where(col(Node.maintenance), col(Node.fault) == fault, *_free())
    return session.exec(wanted.order_by(col(Node.id)).options(_BRIEF)).all()


def watched(states: Collection[str], *, session: Session) -> Sequence[Node]:
    """Return idle nodes in any of these states, without those in maintenance; loaded likewise."""
    wanted = select(Node).where(~col(Node.maintenance), col(Node.provision_state).in_(states), *_free())
    return session.exec(wanted.order_by(col(Node.id)).options(_BRIEF)).all()


def recorded(uuids: Collection[str], *, session: Session) -> Sequence[Recorded]:
    """Return what is recorded of those of these nodes that nobody holds."""
    wanted = select(Node.uuid, Node.power_state, Node.health, Node.maintenance).where(
        col(Node.uuid).in_(uuids), *_free()
    )
    return [Recorded(*row) for row in session.exec(wanted).all()]


def idle(uuids: Collection[str], *, session: Session) -> Sequence[Node]:
    """Return those of these nodes that no operation is about, kept from other writers until the transaction ends.

    Also without nodes that somebody else has locked: who locks many waits for nobody.
    """
    worked_on = select(Operation.id).where(col(Operation.node_id) == col(Node.id), col(Operation.finished_at).is_(None))
    wanted = select(Node).where(col(Node.uuid).in_(uuids), *_free(), ~worked_on.exists()).order_by(col(Node.id))
    fresh = wanted.with_for_update(skip_locked=True).execution_options(populate_existing=True)
    return session.exec(fresh).all()


def of_instances(since: datetime, *, session: Session) -> Sequence[tuple[str, str]]:
    """Return instance and power state of the nodes that have both and have changed since then, oldest change first."""
    instance, state = col(Node.instance_uuid), col(Node.power_state)
    wanted = select(instance, state).where(instance.is_not(None), state.is_not(None), col(Node.updated_at) >= since)
    found = session.exec(wanted.order_by(col(Node.updated_at))).all()
    return [(str(instance), str(state)) for instance, state in found]


def _free() -> tuple[ColumnElement[bool], ...]:
    return (col(Node.reservation).is_(None), col(Node.target_power_state).is_(None))

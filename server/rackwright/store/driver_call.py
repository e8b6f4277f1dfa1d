# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The table of calls of methods of drivers: what clients ask of a vendor interface without a node."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import CursorResult, delete, update
from sqlmodel import Field, Session, SQLModel, col, select

from rackwright.store.columns import created, identity, json_object, key, text
from rackwright.store.operation import OperationStatus


class DriverCall(SQLModel, table=True):
    """One call, from the request until its answer was read, or until nobody wants to know it any more."""

    __tablename__ = "driver_call"

    id: int | None = key()
    uuid: str = identity()
    created_at: datetime = created()
    driver: str = Field(max_length=255)
    step: dict[str, Any] = json_object()
    """The dump of the step, with its arguments."""
    status: str = Field(default=OperationStatus.READY.value, max_length=15, index=True)
    """Ready, running, done or failed."""
    conductor: str | None = Field(default=None, max_length=255)
    facts: dict[str, Any] = json_object()
    """What the step has found out; ``result`` is what the method returns."""
    error: str | None = text()


def get(uuid: str, *, session: Session) -> DriverCall | None:
    """Return a call, None when it is gone."""
    return session.exec(select(DriverCall).where(col(DriverCall.uuid) == uuid)).first()


def ready(drivers: Collection[str], *, session: Session) -> Sequence[DriverCall]:
    """Return the calls of these drivers that nobody has taken up, oldest first."""
    wanted = col(DriverCall.driver).in_(drivers), col(DriverCall.status) == OperationStatus.READY
    return session.exec(select(DriverCall).where(*wanted).order_by(col(DriverCall.id))).all()


def claim(call: DriverCall, conductor: str, *, session: Session) -> bool:
    """Give a call to a conductor; tell whether it was still to be had."""
    still = col(DriverCall.id) == call.id, col(DriverCall.status) == OperationStatus.READY
    taken = update(DriverCall).where(*still).values(status=OperationStatus.RUNNING.value, conductor=conductor)
    found: CursorResult[Any] = session.execute(taken)  # type: ignore[assignment]  # what an UPDATE returns
    return found.rowcount == 1


def running(conductor: str, *, session: Session) -> Sequence[DriverCall]:
    """Return the calls that a conductor has taken up."""
    wanted = col(DriverCall.conductor) == conductor, col(DriverCall.status) == OperationStatus.RUNNING
    return session.exec(select(DriverCall).where(*wanted)).all()


def forget(before: datetime, *, session: Session) -> None:
    """Remove the calls that were made before a moment."""
    session.execute(delete(DriverCall).where(col(DriverCall.created_at) < before))

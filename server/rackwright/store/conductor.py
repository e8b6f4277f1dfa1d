# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The conductor table: the processes that run operations, and when each was last seen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import bindparam
from sqlmodel import Field, Session, SQLModel, col, select

from rackwright.domain.errors import ConductorNotFound
from rackwright.store.columns import UtcDateTime, created, json_list, key, now
from rackwright.store.source import Source


class Conductor(SQLModel, table=True):
    """One conductor process, known by its host name."""

    id: int | None = key()
    hostname: str = Field(unique=True)
    conductor_group: str = ""
    drivers: list[str] = json_list()
    online: bool = True
    created_at: datetime = created()
    updated_at: datetime = Field(default_factory=now, sa_type=UtcDateTime, nullable=False)  # its last heartbeat


listed = Source(Conductor, ConductorNotFound, marker_key="hostname", named=False).listed


_ALIVE = (
    select(Conductor)
    .where(col(Conductor.online), col(Conductor.updated_at) > bindparam("since"))
    .order_by(col(Conductor.hostname))
)


def alive(*, session: Session, timeout: float, at: datetime | None = None) -> Sequence[Conductor]:
    """Return the conductors that were seen in the last ``timeout`` seconds and have not signed off, by host name."""
    return session.exec(_ALIVE, params={"since": (at or now()) - timedelta(seconds=timeout)}).all()


def get(hostname: str, *, session: Session) -> Conductor:
    """Return the conductor with this host name; raise ConductorNotFound."""
    found = session.exec(select(Conductor).where(col(Conductor.hostname) == hostname)).first()
    if found is None:
        raise ConductorNotFound(ident=hostname)
    return found


def register(
    hostname: str, *, session: Session, group: str = "", drivers: Sequence[str] = (), at: datetime | None = None
) -> Conductor:
    """Note that a conductor has started, and what it serves."""
    row = session.exec(select(Conductor).where(col(Conductor.hostname) == hostname)).first()
    row = row or Conductor(hostname=hostname)
    row.conductor_group, row.drivers, row.online, row.updated_at = group, sorted(drivers), True, at or now()
    session.add(row)
    session.flush()
    return row


def heartbeat(hostname: str, *, session: Session, at: datetime | None = None) -> None:
    """Note that a conductor is alive; raise ConductorNotFound when it never registered."""
    row = get(hostname, session=session)
    row.updated_at, row.online = at or now(), True
    session.add(row)


def sign_off(hostname: str, *, session: Session) -> None:
    """Note that a conductor has stopped on purpose."""
    row = get(hostname, session=session)
    row.online = False
    session.add(row)

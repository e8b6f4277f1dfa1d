# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The conductor table: the processes that run operations, and when each was last seen.

Who is alive is judged by the database's clock alone. The epoch of a row grows with each registration, and when others
find its conductor silent: what a process does with an older epoch no longer counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import bindparam, delete, update
from sqlmodel import Field, Session, SQLModel, col, select

from rackwright.domain.errors import ConductorNotFound
from rackwright.store.clock import Ago
from rackwright.store.columns import UtcDateTime, created, json_list, key, now
from rackwright.store.source import Source


class Conductor(SQLModel, table=True):
    """One conductor process, known by its host name."""

    id: int | None = key()
    hostname: str = Field(unique=True)
    conductor_group: str = ""
    drivers: list[str] = json_list()
    online: bool = True
    epoch: int = 0
    identity: str = Field(default="", max_length=64)
    """That of its state directory; empty as long as none has been told."""
    created_at: datetime = created()
    updated_at: datetime = Field(default_factory=now, sa_type=UtcDateTime, nullable=False)  # its last heartbeat


listed = Source(Conductor, ConductorNotFound, marker_key="hostname", named=False).listed


class Alive(NamedTuple):
    """What is to be known of a running conductor."""

    hostname: str
    conductor_group: str
    drivers: list[str]


_ALIVE = (
    select(Conductor.hostname, Conductor.conductor_group, Conductor.drivers)
    .where(col(Conductor.online), col(Conductor.updated_at) > bindparam("since"))
    .order_by(col(Conductor.hostname))
)


def alive(*, session: Session, timeout: float, at: datetime | None = None) -> Sequence[Alive]:
    """Return the conductors that were seen in the last ``timeout`` seconds and have not signed off, by host name."""
    since = (at or now()) - timedelta(seconds=timeout)
    return [Alive(*row) for row in session.connection().execute(_ALIVE, {"since": since})]


def get(hostname: str, *, session: Session) -> Conductor:
    """Return the conductor with this host name; raise ConductorNotFound."""
    found = session.exec(select(Conductor).where(col(Conductor.hostname) == hostname)).first()
    if found is None:
        raise ConductorNotFound(ident=hostname)
    return found


def held(hostname: str, *, session: Session) -> Conductor | None:
    """Return the conductor with this host name, kept from others until the transaction ends; None without one."""
    return session.exec(select(Conductor).where(col(Conductor.hostname) == hostname).with_for_update()).first()


def register(
    hostname: str, *, session: Session, group: str = "", drivers: Sequence[str] = (), identity: str = ""
) -> int:
    """Note that a conductor has started, who it is and what it serves; return its epoch."""
    row = held(hostname, session=session) or Conductor(hostname=hostname)
    row.conductor_group, row.drivers, row.identity = group, sorted(drivers), identity
    row.online, row.epoch = True, row.epoch + 1
    session.add(row)
    session.flush()
    heartbeat(hostname, session=session)
    return row.epoch


def heartbeat(
    hostname: str, *, session: Session, epoch: int | None = None, at: datetime | None = None, leaving: bool = False
) -> bool:
    """Note that a conductor is alive, at another time than now if told; tell whether its epoch still counts.

    One that is ``leaving`` serves no hardware type any more, so that its nodes are those of others.
    """
    known = [col(Conductor.hostname) == hostname]
    if epoch is not None:
        known += [col(Conductor.epoch) == epoch, col(Conductor.online).is_(True)]
    changed: dict[str, Any] = {"updated_at": at or Ago()} | ({"drivers": []} if leaving else {})
    return bool(session.connection().execute(update(Conductor).where(*known).values(changed)).rowcount)


def counts(hostname: str, epoch: int, *, session: Session) -> bool:
    """Tell whether a conductor's epoch still counts; it does so until the transaction ends."""
    mine = (col(Conductor.hostname) == hostname, col(Conductor.epoch) == epoch, col(Conductor.online))
    return session.exec(select(Conductor.id).where(*mine).with_for_update(read=True)).first() is not None


def fence_silent(timeout: float, *, session: Session) -> Sequence[str]:
    """End the epoch of conductors that were not seen for ``timeout`` seconds; return their host names."""
    silent = select(Conductor).where(col(Conductor.online), col(Conductor.updated_at) <= Ago(timeout))
    found = session.exec(silent.with_for_update(skip_locked=True)).all()
    for row in found:
        row.epoch, row.online = row.epoch + 1, False
        session.add(row)
    return [row.hostname for row in found]


def forget(timeout: float, *, session: Session) -> None:
    """Remove the conductors that are not at work and were not seen for ``timeout`` seconds."""
    old = delete(Conductor).where(~col(Conductor.online), col(Conductor.updated_at) <= Ago(timeout))
    session.connection().execute(old)


def is_gone(hostname: str | None, *, session: Session) -> bool:
    """Tell whether no conductor of this name is at work."""
    known = select(Conductor.id).where(col(Conductor.hostname) == hostname, col(Conductor.online))
    return session.exec(known).first() is None


def sign_off(hostname: str, *, session: Session, epoch: int | None = None) -> None:
    """Note that a conductor has stopped on purpose; not if its epoch is told and counts no more."""
    known = col(Conductor.hostname) == hostname
    mine = (known,) if epoch is None else (known, col(Conductor.epoch) == epoch)
    session.connection().execute(update(Conductor).where(*mine).values(online=False))

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The deployment table: what all processes that share a database must have in common; one row."""

from __future__ import annotations

from hashlib import sha256

from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError
from sqlmodel import Field, Session, SQLModel

from rackwright.domain.errors import Invalid
from rackwright.store.migrations import migrate
from rackwright.store.session import is_shared, open_engine, reading, writing


class WrongKey(Invalid):
    """This host's secret.key is not the one that seals the database's secrets; copy it from another host."""


class Deployment(SQLModel, table=True):
    """What is the same everywhere."""

    id: int = Field(default=1, primary_key=True, sa_column_kwargs={"autoincrement": False})
    key_fingerprint: str = Field(max_length=64)


def enter(url: str, key: bytes) -> Engine:
    """Open a database for a process of the daemon, up to date; raise WrongKey or DatabaseUnusable."""
    database = open_engine(url)
    migrate(database)
    if is_shared(url):
        check_key(key, database=database)
    return database


def check_key(key: bytes, *, database: Engine) -> None:
    """Note the key of the first process that asks; raise WrongKey for another one."""
    fingerprint = sha256(b"rackwright:" + key).hexdigest()
    with reading(database) as session:
        known = _known(session)
    if known is None:
        known = _noted(fingerprint, database)
    if known != fingerprint:
        raise WrongKey


def _known(session: Session) -> str | None:
    row = session.get(Deployment, 1)
    return None if row is None else row.key_fingerprint


def _noted(fingerprint: str, database: Engine) -> str | None:
    """Store the fingerprint unless another process was faster; return the one that counts."""
    with writing(database) as session:
        try:
            session.add(Deployment(key_fingerprint=fingerprint))
            session.commit()
        except IntegrityError:
            session.rollback()
        return _known(session)

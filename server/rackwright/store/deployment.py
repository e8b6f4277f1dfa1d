# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The deployment table: what all processes that share a database must have in common; one row."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError
from sqlmodel import Field, Session, SQLModel

from rackwright.domain.errors import Invalid
from rackwright.store.migrations import migrate
from rackwright.store.sealing import read_key
from rackwright.store.session import open_engine, reading, writing


class WrongKey(Invalid):
    """{file} is not the key of the database; copy secret.key from another host, or a backup, to that place."""


class KeyMissing(Invalid):
    """{file} is missing, and the database has a key; copy secret.key from another host, or a backup, to that place."""


class Deployment(SQLModel, table=True):
    """What is the same everywhere."""

    id: int = Field(default=1, primary_key=True, sa_column_kwargs={"autoincrement": False})
    key_fingerprint: str = Field(max_length=64)


def enter(url: str, key_file: Path) -> tuple[Engine, bytes]:
    """Open a database for a process of the daemon, up to date; return it with the key that seals its secrets.

    The first process makes the key. Raise DatabaseUnusable, KeyMissing, KeyUnusable or WrongKey.
    """
    database = open_engine(url)
    try:
        migrate(database)
        return database, _key(key_file, database)
    except Invalid:
        database.dispose()
        raise


def _key(file: Path, database: Engine) -> bytes:
    with reading(database) as session:
        known = _known(session)
    if known is not None and not file.exists():
        raise KeyMissing(file=file)
    key = read_key(file)
    fingerprint = sha256(b"rackwright:" + key).hexdigest()
    if (known or _noted(fingerprint, database)) != fingerprint:
        raise WrongKey(file=file)
    return key


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

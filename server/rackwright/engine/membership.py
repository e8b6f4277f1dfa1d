# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""This conductor among others that share its database: its epoch, its lease and its part of the ring.

A conductor that was silent for ``heartbeat_timeout`` loses its epoch to whoever notices, and then its nodes. It must
have stopped by then: its lease ends one ``heartbeat_interval`` earlier, by a clock of its own host that nobody sets.
With SQLite nobody else is there, and nothing of this costs anything.

A name belongs to one state directory, which has an identity, as long as its conductor beats: whoever comes with the
same identity is that conductor, started again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session

from rackwright.domain.errors import Invalid, RackwrightError
from rackwright.engine.ring import Ring, alive
from rackwright.settings import Settings
from rackwright.store import conductor as conductors
from rackwright.store.columns import now
from rackwright.store.node import Node
from rackwright.store.session import is_shared, reading, writing

LEASE = "lease"
"""File in the state directory, beside the door: until when runs may act, seconds of CLOCK_BOOTTIME."""

IDENTITY = "identity"
"""File in the state directory: a random text, written once."""


class Fenced(RackwrightError):
    """Conductor {host} was silent for too long, so that others have taken its nodes; it stops its runs and rejoins."""


class NameTaken(Invalid):
    """Another conductor is {host}; give each its own conductor_host (if state_dir was lost: start in {wait} s)."""


class Membership:
    """What one conductor knows of itself and the others."""

    def __init__(self, database: Engine, settings: Settings) -> None:
        self._database, self._settings = database, settings
        self._shared = is_shared(settings.database)
        self._host = settings.conductor_host
        self._epoch: int | None = None
        self._seen_at = self._steady_since = 0.0
        self._leaving = False
        self._ring = Ring(())

    def register(self, drivers: Sequence[str]) -> None:
        """Enter, or enter again. Raise NameTaken when another conductor that is alive has our name."""
        begun = _uptime()
        identity = _identity(self._settings.state_dir / IDENTITY) if self._shared else ""
        with writing(self._database) as session:
            if self._shared:
                self._refuse_namesake(identity, session)
            group = self._settings.conductor_group
            try:
                self._epoch = conductors.register(
                    self._host, session=session, group=group, drivers=drivers, identity=identity
                )
            except IntegrityError as error:  # it is as new as we
                raise self._name_taken(0) from error
            session.commit()
        self._steady_since = begun
        (self._settings.state_dir / LEASE).unlink(missing_ok=True)  # as from another database
        self._extend(begun)

    def withdraw(self) -> None:
        """Let others have our nodes from the next heartbeat on; what we run stays with us as long as we beat."""
        self._leaving = self._shared

    def leave(self) -> None:
        """Say that we have stopped."""
        with writing(self._database) as session:
            conductors.sign_off(self._host, session=session, epoch=self._epoch)
            session.commit()

    def beat(self) -> None:
        """Tell that we are alive, and look who else is. Raise Fenced."""
        begun = _uptime()
        with writing(self._database) as session:
            if not conductors.heartbeat(self._host, session=session, epoch=self._epoch, leaving=self._leaving):
                raise Fenced(host=self._host)
            session.commit()
        if begun - self._seen_at > 2 * self._settings.heartbeat_interval:
            self._steady_since = begun
        self._extend(begun)

    def confirm(self, session: Session) -> None:
        """Raise Fenced unless our epoch counts until the session's transaction ends."""
        if self._shared and not conductors.counts(self._host, self._epoch or 0, session=session):
            raise Fenced(host=self._host)

    @contextmanager
    def acting(self) -> Iterator[Session]:
        """Open a session that writes as long as we count as alive. Raise Fenced."""
        with writing(self._database) as session:
            self.confirm(session)
            yield session

    def lapsed(self) -> bool:
        """Tell whether others may count us as dead, so that our runs must not touch a machine any more."""
        return self._shared and _uptime() >= self._seen_at + self._lease

    def may_judge(self) -> bool:
        """Tell whether the silence of others is theirs: we have been in touch so long that they would have been too."""
        return self._shared and self._seen_at - self._steady_since >= 2 * self._settings.heartbeat_interval

    def is_mine(self, uuid: str, driver: str, group: str) -> bool:
        """Tell whether a node is in our part of the ring."""
        return not self._shared or self._ring.host(uuid, driver, group) == self._host

    def owns(self, node: Node) -> bool:
        """Tell whether a node is in our part of the ring."""
        return self.is_mine(node.uuid, node.driver, node.conductor_group)

    @property
    def shares(self) -> bool:
        """Tell whether there may be others."""
        return self._shared

    @property
    def _lease(self) -> int:
        return self._settings.heartbeat_timeout - self._settings.heartbeat_interval

    def _extend(self, begun: float) -> None:
        self._seen_at = begun
        if not self._shared:
            return
        with reading(self._database) as session:
            self._ring = Ring(alive(session=session, settings=self._settings))
        _write(self._settings.state_dir / LEASE, f"{begun + self._lease:.3f}")

    def _refuse_namesake(self, identity: str, session: Session) -> None:
        row = conductors.held(self._host, session=session)
        if row is None or not row.online:
            return
        silence = (now() - row.updated_at).total_seconds()
        is_mine = row.identity in ("", identity) and self._epoch in (None, row.epoch)
        if not is_mine and silence < self._settings.heartbeat_timeout:
            raise self._name_taken(silence)

    def _name_taken(self, silence: float) -> NameTaken:
        return NameTaken(host=self._host, wait=math.ceil(self._settings.heartbeat_timeout - silence))


def _uptime() -> float:
    """Return the seconds since the host started, those that it slept through too."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _identity(path: Path) -> str:
    """Return what a state directory is told by; a copy of it has another file, and is another one."""
    if not path.exists() or not path.stat().st_size:
        _write(path, uuid4().hex)
    return f"{path.read_text(encoding='ascii')}-{path.stat().st_ino}"


def _write(path: Path, text: str) -> None:
    part = path.with_suffix(".part")
    part.write_text(text, encoding="ascii")
    part.replace(path)

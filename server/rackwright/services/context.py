# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Everything that a service needs to answer one request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError
from sqlmodel import Session

from rackwright.catalog import Catalog
from rackwright.domain.caller import ANYBODY, Caller
from rackwright.domain.errors import Duplicate, NodeLocked
from rackwright.services.policy import Policy
from rackwright.settings import Settings
from rackwright.store import operation as operations
from rackwright.store.node import Node
from rackwright.store.sealing import Sealer


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One request's session, the parts of the daemon behind it, its API version (minor) and who asks."""

    session: Session
    engine: Engine
    settings: Settings
    catalog: Catalog
    sealer: Sealer
    minor: int
    caller: Caller = ANYBODY
    policy: Policy | None = None
    """The rules in force; None: everybody may do everything."""

    @property
    def user(self) -> str | None:
        """Return by which name or id the user goes into records."""
        return self.caller.user_id

    @property
    def project(self) -> str | None:
        """Return the id of the project that the user acts for, None without one."""
        return self.caller.project_id


def check_unlocked(node: Node) -> None:
    """Raise NodeLocked while somebody holds the node."""
    if node.reservation is not None:
        raise NodeLocked(node=node.name or node.uuid, host=node.reservation)


def check_stoppable(node: Node, *, session: Session) -> None:
    """Raise NodeLocked while somebody holds the node for something else than an operation, which can be stopped."""
    if operations.unfinished_of(node.id or 0, session=session) is None:
        check_unlocked(node)


@contextmanager
def no_duplicate(what: str, ident: object) -> Iterator[None]:
    """Raise Duplicate when the database finds one of the changed values in another row."""
    try:
        yield
    except IntegrityError as error:
        raise Duplicate(what=what, ident=ident) from error

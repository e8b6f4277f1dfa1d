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
from rackwright.domain.errors import Duplicate, NodeLocked
from rackwright.settings import Settings
from rackwright.store.node import Node
from rackwright.store.sealing import Sealer


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One request's session, the parts of the daemon behind it, its API version (minor) and the user who asks."""

    session: Session
    engine: Engine
    settings: Settings
    catalog: Catalog
    sealer: Sealer
    minor: int
    user: str | None = None


def check_unlocked(node: Node) -> None:
    """Raise NodeLocked while somebody holds the node."""
    if node.reservation is not None:
        raise NodeLocked(node=node.name or node.uuid, host=node.reservation)


@contextmanager
def no_duplicate(what: str, ident: object) -> Iterator[None]:
    """Raise Duplicate when the database finds one of the changed values in another row."""
    try:
        yield
    except IntegrityError as error:
        raise Duplicate(what=what, ident=ident) from error

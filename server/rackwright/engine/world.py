# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What the engine works with, in one hand."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Engine
from sqlmodel import Session

from rackwright.catalog import Catalog
from rackwright.engine.membership import Membership
from rackwright.nova import Nova
from rackwright.settings import Settings
from rackwright.store.columns import now
from rackwright.store.sealing import Sealer


@dataclass(frozen=True, slots=True)
class World:
    """The parts that a conductor is made of; the clock is one of them."""

    database: Engine
    settings: Settings
    catalog: Catalog
    sealer: Sealer
    clock: Callable[[], datetime] = now
    nova: Nova | None = None
    """Who is told of power changes; None: nobody."""
    membership: Membership = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "membership", Membership(self.database, self.settings))

    def acting(self) -> AbstractContextManager[Session]:
        """Open a session that writes as long as this conductor counts as alive. Raise Fenced."""
        return self.membership.acting()

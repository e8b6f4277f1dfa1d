# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What the engine works with, in one hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Engine

from rackwright.catalog import Catalog
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

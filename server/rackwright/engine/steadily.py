# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Do something in the database however long it is away, or until others may have taken over."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from rackwright.engine.world import World
from rackwright.store.outage import report
from rackwright.store.session import UNAVAILABLE

_PAUSE = 0.5  # seconds
Result = TypeVar("Result")


def steadily(do: Callable[[], Result], world: World) -> Result:
    """Return what ``do`` returns, one transaction, tried again for ``heartbeat_timeout`` while the database is away.

    Raise one of ``UNAVAILABLE`` after that, and as soon as this conductor's lease has ended.
    """
    end = time.monotonic() + world.settings.heartbeat_timeout
    while True:
        try:
            return do()
        except UNAVAILABLE as error:
            if time.monotonic() > end or world.membership.lapsed():
                raise
            report("What a run tells or asks is tried again", error, world.database)
            time.sleep(_PAUSE)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""End the runs of a conductor that others may count as dead, even while its own thread waits for the database."""

from __future__ import annotations

import logging
import threading

from rackwright.engine.live import LiveRuns
from rackwright.engine.membership import Membership

logger = logging.getLogger(__name__)

PAUSE = 0.5
"""Seconds between two looks at the clock."""


class LeaseWatch:
    """Looks at the lease as long as there may be other conductors."""

    def __init__(self, membership: Membership, runs: LiveRuns) -> None:
        self._membership, self._runs = membership, runs
        self._stop = threading.Event()

    def start(self) -> None:
        """Begin to look, on a thread of its own."""
        if self._membership.shares:
            threading.Thread(target=self._look, name="lease", daemon=True).start()

    def stop(self) -> None:
        """End."""
        self._stop.set()

    def _look(self) -> None:
        while not self._stop.wait(PAUSE):
            if self._membership.lapsed() and (ended := self._runs.cancel_all()):
                logger.warning(
                    "No word with the database for too long; the runs are ended, others may have them now",
                    extra={"runs": ended},
                )

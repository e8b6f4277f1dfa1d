# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What a conductor does again and again, whether there is work or not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta


class Duty:
    """Something that is done every so many seconds; 0 = never."""

    def __init__(self, seconds: float, do: Callable[[], None]) -> None:
        self._interval, self._do = timedelta(seconds=seconds), do
        self._next: datetime | None = None
        self._hastened = False

    def begin(self, at: datetime) -> None:
        """Count from now on."""
        self._next = at + self._interval if self._interval else None

    def hasten(self) -> None:
        """Let it be done the next time that somebody asks."""
        self._hastened = True

    def perform(self, at: datetime) -> None:
        """Do it when its time has come, or the clock was set back."""
        if self._next is not None and (self._hastened or not self._next - self._interval < at < self._next):
            self._hastened = False
            self.begin(at)
            self._do()

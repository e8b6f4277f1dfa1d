# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What is done to a site: a process is killed, or the way of a host to the database is cut for a while."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from tests.chaos.network import Wires
from tests.chaos.processes import below
from tests.chaos.site import Site

KINDS = ("api", "conductor", "supervisor", "upgrade", "fork server", "run", "worker", "client")
"""What may be killed with SQLite."""

SHARED = ("api", "conductor", "database", "connection", "fork server", "run", "worker", "client")
"""What may be killed with PostgreSQL."""

_PAUSE = 0.2  # seconds between two looks who has ended


class Disturbance(Protocol):
    """Something that happens now and then."""

    def strike(self, site: Site) -> str:
        """Let it happen; return what has happened."""


class Kills:
    """``kill -9`` of any process: each kind is as likely as the others, whether or not it is there."""

    def __init__(self, chance: random.Random, kinds: Sequence[str]) -> None:
        """Take what decides, and the kinds that may be hit."""
        self._chance, self._kinds = chance, kinds

    def strike(self, site: Site) -> str:
        """Kill one."""
        victims, kind = below(site.folder) | _database(site), self._chance.choice(self._kinds)
        found = sorted(pid for pid, each in victims.items() if each == kind)
        if not found:
            return f"not there: {kind}"
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._chance.choice(found), signal.SIGKILL)
        return f"killed: {kind}"


def _database(site: Site) -> dict[int, str]:
    """Return the server of the database and the processes of its connections."""
    if site.server is None or site.server.process is None:
        return {}
    pid = site.server.process.pid
    found = {pid: "database"}
    with contextlib.suppress(OSError):
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            if b"tester" in Path(f"/proc/{child}/cmdline").read_bytes():
                found[int(child)] = "connection"
    return found


class Cuts:
    """The way of one host to the database is cut, long enough for others to take over, and healed."""

    def __init__(self, chance: random.Random, wires: Wires, seconds: float) -> None:
        """Take what decides, the wires, and how long one is cut. The last host is spared: agents call it."""
        self._chance, self._wires, self._seconds = chance, wires, seconds

    def strike(self, site: Site) -> str:
        """Cut one, wait, and heal it."""
        number = self._chance.randrange(len(site.hosts) - 1)
        self._wires.cut(number)
        time.sleep(self._seconds)
        self._wires.heal(number)
        return f"cut and healed: {site.hosts[number].name}"


class Storm:
    """Strikes every so many seconds, and starts again what has ended."""

    def __init__(self, site: Site, disturbance: Disturbance, every: float) -> None:
        self._site, self._disturbance, self._every = site, disturbance, every
        self._over, self._calm = threading.Event(), threading.Event()
        self.count: Counter[str] = Counter()

    @contextlib.contextmanager
    def raging(self) -> Iterator[Storm]:
        """Keep the site alive for the time of the block, and disturb it until ``calm``."""
        self._site.revive()
        threads = [threading.Thread(target=each, daemon=True) for each in (self._revive, self._strike)]
        for thread in threads:
            thread.start()
        try:
            yield self
        finally:
            self.calm()
            self._over.set()
            for thread in threads:
                thread.join()
            time.sleep(_PAUSE)  # a database that was started by a thread dies with it

    def calm(self) -> None:
        """Disturb it no more."""
        self._calm.set()

    def _revive(self) -> None:
        while not self._over.wait(_PAUSE):
            self._site.revive()

    def _strike(self) -> None:
        while not self._calm.wait(self._every):
            what = self._disturbance.strike(self._site)
            self.count[what] += 1
            sys.stderr.write(f"{time.strftime('%H:%M:%S')} {what}\n")

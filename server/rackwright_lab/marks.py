# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""When a machine got how far in its boot, read off its console as it is written.

NAME.marks, beside the console, has a line of JSON for each mark: ``at`` in seconds since 1970 and ``mark``, what begins
then: firmware, kernel, ramdisk, agent, system (a boot from disk), ready (it has booted) or off.
"""

import json
import threading
import time
from pathlib import Path

INTERVAL = 0.2
"""Seconds between two looks at a console, which is how exact the times are."""

_MARKS = (
    ("power on, boot from Hdd", "system"),
    ("power on", "firmware"),
    ("reset,", "firmware"),
    ("Linux version", "kernel"),
    ("RAMDISK ", "ramdisk"),
    ("Starting ironic-python-agent version", "agent"),
    ("LAB-OS READY", "ready"),
    ("power cut", "off"),
    ("off by itself", "off"),
)


class Marks:
    """Follows one console from now on."""

    def __init__(self, console: Path) -> None:
        """Begin at the console's present end, without the marks of an earlier rack."""
        self._console = console
        self._file = console.with_suffix(".marks")
        self._file.unlink(missing_ok=True)
        self._place = console.stat().st_size
        self._last = ""

    def look(self, now: float) -> None:
        """Write a mark for everything new that the console shows; ``now`` is in seconds since 1970."""
        size = self._console.stat().st_size
        if size == self._place:
            return
        self._place = min(self._place, size)  # it was emptied
        with self._console.open("rb") as file:
            file.seek(self._place)
            text = file.read()
        lines, _, _ = text.rpartition(b"\n")
        self._place += len(lines) + 1 if lines else 0
        for line in lines.decode("utf-8", "replace").splitlines():
            self._mark(line, now)

    def _mark(self, line: str, now: float) -> None:
        mark = next((mark for text, mark in _MARKS if text in line), None)
        if mark is None or mark == self._last:
            return
        self._last = mark
        with self._file.open("a") as file:
            file.write(json.dumps({"at": round(now, 2), "mark": mark}) + "\n")


def follow(consoles: list[Path]) -> None:
    """Start a thread that follows the consoles as long as this process lives."""
    marks = [Marks(console) for console in consoles]

    def run() -> None:
        while True:
            for each in marks:
                each.look(time.time())
            time.sleep(INTERVAL)

    threading.Thread(target=run, daemon=True).start()

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tell the conductor how nodes fare: in one line what comes within a moment, since each line costs both sides a lot."""

from __future__ import annotations

import json
import queue
import threading
from typing import Any

from ansible.utils.display import Display

PAUSE = 0.1
"""Seconds between two lines; the first one and the last one do not wait."""

MOST = 50
"""Reports in a line."""

Data = dict[str, Any]


class Speech:
    """Displays reports, in order, on a thread of its own; at its end all of them are displayed."""

    def __init__(self) -> None:
        """Begin with nothing to say."""
        self._waiting: queue.SimpleQueue[Data | None] = queue.SimpleQueue()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._speak, daemon=True)

    def __enter__(self) -> Speech:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        self._waiting.put(None)
        self._thread.join()

    def say(self, *reports: Data) -> None:
        """Display these soon."""
        for report in reports:
            self._waiting.put(report)

    def _speak(self) -> None:
        while (first := self._waiting.get()) is not None:
            said = [first]
            while len(said) < MOST and not self._waiting.empty():  # nobody else takes anything out
                report = self._waiting.get()
                if report is None:
                    self._waiting.put(None)
                    break
                said.append(report)
            Display().display("@node " + json.dumps(said, ensure_ascii=True, default=str))
            self._over.wait(PAUSE)

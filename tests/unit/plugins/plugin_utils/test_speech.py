# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import queue
from typing import Any

import pytest
from ansible.utils.display import Display

from ansible_collections.rackwright.metal.plugins.plugin_utils import _speech
from ansible_collections.rackwright.metal.plugins.plugin_utils._speech import MOST, Speech

Told = queue.SimpleQueue[str]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """Return the lines that are displayed."""
    lines: Told = queue.SimpleQueue()
    monkeypatch.setattr(Display, "display", lambda _, line: lines.put(line))
    return lines


def _heard(told: Told) -> list[dict[str, Any]]:
    line = told.get(timeout=20)
    assert line.startswith("@node ")
    reports: list[dict[str, Any]] = json.loads(line.removeprefix("@node "))
    return reports


def test_what_comes_together_is_told_in_few_lines_in_its_order(told: Told) -> None:
    reports = [{"node": f"node-{number}", "event": "start"} for number in range(2 * MOST + 7)]
    with Speech() as speech:
        speech.say(*reports)
    heard = [_heard(told) for number in range(told.qsize())]
    assert [len(line) for line in heard] == [MOST, MOST, 7]
    assert [report for line in heard for report in line] == reports


def test_a_lone_report_is_told_at_once_and_the_end_waits_for_nothing(
    told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_speech, "PAUSE", 600.0)
    with Speech() as speech:
        speech.say({"event": "start"})
        assert _heard(told) == [{"event": "start"}]
        for number in range(3):
            speech.say({"event": "facts", "facts": {"number": number}})
    assert [report["facts"]["number"] for report in _heard(told)] == [0, 1, 2]

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import time
from typing import Any

import pytest

from ansible_collections.rackwright.metal.plugins.plugin_utils import _speech
from ansible_collections.rackwright.metal.plugins.plugin_utils._speech import MOST, Speech


def _heard(capsys: pytest.CaptureFixture[str]) -> list[list[dict[str, Any]]]:
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("@node ") for line in lines)
    return [json.loads(line.removeprefix("@node ")) for line in lines]


def test_what_comes_together_is_told_in_few_lines_in_its_order(capsys: pytest.CaptureFixture[str]) -> None:
    reports = [{"node": f"node-{number}", "event": "start"} for number in range(2 * MOST + 7)]
    with Speech() as speech:
        speech.say(*reports)
    heard = _heard(capsys)
    assert [len(line) for line in heard] == [MOST, MOST, 7]
    assert [report for line in heard for report in line] == reports


def test_a_lone_report_is_told_at_once_and_the_end_waits_for_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_speech, "PAUSE", 30.0)
    began = time.monotonic()
    with Speech() as speech:
        speech.say({"event": "start"})
        end, heard = time.monotonic() + 10, list[Any]()
        while not heard:
            assert time.monotonic() < end
            heard = _heard(capsys)
        for number in range(3):
            speech.say({"event": "facts", "facts": {"number": number}})
    assert time.monotonic() - began < 20
    assert heard == [[{"event": "start"}]]
    assert [[report["facts"]["number"] for report in line] for line in _heard(capsys)] == [[0, 1, 2]]

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import time
from pathlib import Path

import pytest

from rackwright import supervisor
from rackwright.supervisor import Child, Supervisor


@pytest.fixture
def mortal(monkeypatch: pytest.MonkeyPatch) -> Child:
    """Return a process that dies as soon as it is started."""
    monkeypatch.setattr(supervisor, "command", lambda *_: ["false"])
    return Child("mortal", [])


def test_a_process_that_dies_again_and_again_is_started_ever_later(mortal: Child) -> None:
    assert mortal.due() == 0.0
    rests = []
    for _ in range(7):
        mortal.start()
        assert mortal.process is not None
        mortal.process.wait()
        due = mortal.due()
        assert due is not None
        rests.append(round(due))
    assert rests == [1, 2, 4, 8, 16, 30, 30]


def test_one_that_lived_long_is_started_soon_again(mortal: Child) -> None:
    for _ in range(4):
        mortal.start()
        assert mortal.process is not None
        mortal.process.wait()
        mortal.due()
    mortal.start()
    assert mortal.process is not None
    mortal.process.wait()
    mortal.born = time.monotonic() - 100
    due = mortal.due()
    assert due is not None and due <= 1.0


def test_a_process_that_runs_is_not_started(mortal: Child, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "command", lambda *_: ["sleep", "60"])
    mortal.start()
    assert mortal.due() is None
    assert mortal.process is not None
    mortal.process.kill()
    mortal.process.wait()


def test_the_conductor_is_stopped_before_the_api_that_serves_its_last_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    script = 'trap "echo $0 >> $1; exit" TERM; echo ready >> $1; while :; do sleep 0.05; done'
    monkeypatch.setattr(supervisor, "command", lambda name, *_: ["sh", "-c", script, name, str(log)])
    children = [Child("api", ["api"]), Child("conductor", ["conductor"])]
    for child in children:
        child.start()
    while not log.exists() or log.read_text().count("ready") < 2:
        time.sleep(0.02)
    Supervisor(children, patience=10).stop()
    assert log.read_text().split() == ["ready", "ready", "conductor", "api"]

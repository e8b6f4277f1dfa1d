# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import threading
from pathlib import Path

import pytest

from rackwright.engine import conductor
from rackwright.engine.waves import LAST_ATTEMPT
from rackwright.runner.base import Listener, PlaybookRun, RunResult, RunStatus
from rackwright.runner.fake import Death
from tests.unit.server.engine.engine_house import EngineHouse

AWAY = "Execution host a cannot be reached."


def test_a_conductor_whose_database_is_gone_looks_only_now_and_then(
    house: EngineHouse, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(conductor, "AFTER_ERROR", 0.2)
    house.conductor.drop()  # which closes its connection
    stop = threading.Event()
    threading.Timer(1.0, stop.set).start()
    house.conductor.serve(stop)
    assert 2 <= caplog.text.count("could not look for work") <= 6


def test_runs_that_die_at_once_are_tried_again_ever_later(house: EngineHouse) -> None:
    def die(_: str) -> None:
        raise Death("the connection broke")

    house.script["deploy.deploy"] = die
    uuid = house.node(provision_state="available")
    house.verb(uuid, "active")
    seconds, begun = 0, dict[int, int]()
    while house.look(uuid).provision_state != "deploy failed":
        house.settle()
        begun.setdefault(house.steps_of(uuid).count("deploy.deploy"), seconds)
        house.clock.turn(1)
        seconds += 1
        assert seconds < 200
    assert [begun[count] for count in range(1, 5)] == [0, 1, 2, 4]
    assert begun[LAST_ATTEMPT] >= 60


class Away:
    """A runner some of whose execution hosts cannot be reached."""

    def __init__(self, house: EngineHouse) -> None:
        self._runner, self.away, self.tried = house.runner, {"far"}, list[str]()
        house.conductor.drop()
        house.conductor = conductor.Conductor(house.world, self)
        house.conductor.start()

    def run(self, run: PlaybookRun, listener: Listener) -> RunResult:
        self.tried.append(run.host)
        if run.host in self.away:
            return RunResult(RunStatus.HINDERED, cause=AWAY)
        return self._runner.run(run, listener)


def _deployed(house: EngineHouse, host: str, count: int = 1) -> list[str]:
    """Return nodes of an execution host that are being deployed, each kind in a wave of its own."""
    properties = {"execution_host": host}
    uuids = [house.node(provision_state="available", properties=properties) for _ in range(count)]
    for uuid in uuids:
        house.verb(uuid, "active")
    return uuids


def test_nodes_of_a_host_that_is_away_wait_for_it_and_hold_up_nobody(tmp_path: Path) -> None:
    house = EngineHouse(tmp_path, execution_hosts={"far": "a", "near": "b"}, wave_size=2)
    runner = Away(house)
    far = _deployed(house, "far", 8)
    house.settle()
    assert runner.tried.count("far") <= house.settings.run_slots, "one failure is enough for all that follow"
    near = _deployed(house, "near", 8)
    house.settle()
    assert {house.look(uuid).provision_state for uuid in near} == {"active"}
    before = runner.tried.count("far")
    for _ in range(300):
        house.settle()
        house.clock.turn(1)
    assert 5 <= runner.tried.count("far") - before <= 15, "it is tried ever later, by one run at a time"
    assert {house.look(uuid).last_error for uuid in far} == {None}
    assert house.steps_of(far[0]) == []
    runner.away.clear()
    house.clock.turn(61)
    house.settle()
    assert {house.look(uuid).provision_state for uuid in far} == {"active"}
    house.close()


def test_a_node_whose_run_could_not_begin_says_why_and_its_timeline_does_not_grow(tmp_path: Path) -> None:
    house = EngineHouse(tmp_path, execution_hosts={"far": "a"})
    runner = Away(house)
    (uuid,) = _deployed(house, "far")
    for _ in range(LAST_ATTEMPT + 2):
        house.settle()
        house.clock.turn(61)
    assert len(runner.tried) > LAST_ATTEMPT
    told = [(entry["step"], entry["activity"], entry.get("why")) for entry in house.operation(uuid).timeline]
    assert told == [("deploy.deploy", "queued", AWAY)]
    shown = house.look(uuid).driver_internal_info["operation"]
    assert (shown["activity"], shown["why"]) == ("queued", AWAY)
    assert shown["since"] == house.operation(uuid).timeline[0]["at"]
    runner.away.clear()
    house.settle()
    assert [entry["activity"] for entry in house.operation(uuid).timeline[:2]] == ["queued", "runs"]
    assert house.look(uuid).provision_state == "active"
    house.close()

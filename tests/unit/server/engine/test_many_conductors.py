# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Conductors that share one database: who takes which node, and what becomes of those of a dead one."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from rackwright.domain.outcomes import Outcome, WaitFor, Waiting
from rackwright.domain.verbs import Phase
from rackwright.engine import lease, membership
from rackwright.engine.lease import LeaseWatch
from rackwright.engine.live import LiveRun, LiveRuns
from rackwright.engine.membership import Fenced, Membership, NameTaken
from rackwright.store import conductor as conductors
from rackwright.store.columns import now
from rackwright.store.session import writing
from tests.unit.server import databases
from tests.unit.server.engine.engine_house import EngineHouse

SILENCE = timedelta(seconds=90)


class Uptime:
    """The seconds since the host started, turned by hand."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def uptime(monkeypatch: pytest.MonkeyPatch) -> Uptime:
    clock = Uptime()
    monkeypatch.setattr(membership, "_uptime", clock)
    return clock


class Fleet:
    """Two conductors, a and b."""

    def __init__(self, folder: Path, url: str, uptime: Uptime) -> None:
        self._uptime = uptime
        self.a, self.b = (EngineHouse(folder / name, database_url=url, conductor_host=name) for name in "ab")
        self.beat()

    def beat(self, *silent: EngineHouse) -> None:
        """Let time pass, as much as conductors need to judge one another, and all beat that are not silent."""
        for _ in range(3):
            self._uptime.seconds += 15
            for house in (self.a, self.b):
                if house in silent:
                    self.silence(house)
                else:
                    house.world.membership.beat()

    def silence(self, house: EngineHouse) -> None:
        """Make it long ago that a conductor was seen."""
        with writing(house.world.database) as session:
            conductors.heartbeat(house.settings.conductor_host, session=session, at=now() - SILENCE)
            session.commit()

    def node_of(self, house: EngineHouse) -> str:
        """Return a new node that is in a conductor's part of the ring."""
        while not house.world.membership.owns(self.a.look(uuid := self.a.node())):
            pass
        return uuid


@pytest.fixture(params=["postgresql", "mariadb"])
def fleet(request: pytest.FixtureRequest, tmp_path: Path, uptime: Uptime) -> Iterator[Fleet]:
    built = Fleet(tmp_path, databases.emptied(request.param), uptime)
    yield built
    for house in (built.a, built.b):
        house.close()


def test_each_conductor_takes_its_part_of_the_nodes(fleet: Fleet) -> None:
    uuids = [fleet.a.node() for _ in range(12)]
    for uuid in uuids:
        fleet.a.verb(uuid, "manage")
        assert fleet.a.look(uuid).reservation in ("a", "b")
    fleet.a.settle()
    mine = {node for node, _ in fleet.a.played}
    assert mine == {uuid for uuid in uuids if fleet.a.world.membership.owns(fleet.a.look(uuid))}
    assert 0 < len(mine) < len(uuids)
    fleet.b.settle()
    assert {node for node, _ in fleet.b.played} == set(uuids) - mine
    assert {fleet.b.look(uuid).provision_state for uuid in uuids} == {"manageable"}


def test_a_conductor_group_has_conductors_of_its_own(tmp_path: Path, uptime: Uptime) -> None:
    fleet = Fleet(tmp_path, databases.emptied("postgresql"), uptime)
    far = EngineHouse(
        tmp_path / "far", database_url=fleet.a.settings.database, conductor_host="far", conductor_group="far"
    )
    here, there = fleet.a.node(), fleet.a.node(conductor_group="far")
    for uuid in (here, there):
        far.verb(uuid, "manage")
    assert far.look(there).reservation == "far" != far.look(here).reservation
    far.settle()
    assert (far.look(here).provision_state, far.look(there).provision_state) == ("verifying", "manageable")
    for house in (fleet.a, fleet.b, far):
        house.close()


def test_what_a_dead_conductor_ran_goes_on_elsewhere(fleet: Fleet) -> None:
    uuid, go, began = fleet.node_of(fleet.a), threading.Event(), threading.Event()

    def hang(_: str) -> Outcome | None:
        began.set()
        go.wait(20)
        return None

    fleet.a.script["power.read_power_state"] = hang
    fleet.a.verb(uuid, "manage")
    fleet.a.conductor.tick()
    began.wait(20)
    fleet.beat()
    fleet.b.conductor.tick()
    assert fleet.b.look(uuid).reservation == "a", "its conductor is alive"
    fleet.beat(fleet.a)
    fleet.b.conductor._heartbeat()
    fleet.b.conductor._heartbeat()  # the ring is that of the beat before
    fleet.b.settle()
    assert fleet.b.steps_of(uuid) == ["power.read_power_state"]
    assert fleet.b.look(uuid).provision_state == "manageable"
    before = fleet.b.operation(uuid).timeline
    go.set()  # the conductor was not dead but paused; it wakes up in the middle of its run
    while fleet.a.conductor._runs:
        pass
    assert fleet.b.look(uuid).provision_state == "manageable"
    assert fleet.b.operation(uuid).timeline == before


def test_a_conductor_that_others_have_given_up_takes_nothing_before_it_has_rejoined(fleet: Fleet) -> None:
    uuid = fleet.node_of(fleet.a)
    fleet.beat(fleet.a)
    fleet.b.conductor._heartbeat()
    fleet.b.verb(uuid, "manage")
    with pytest.raises(Fenced):
        fleet.a.conductor.tick()
    assert fleet.a.steps_of(uuid) == []
    fleet.a.conductor._tick_safely()
    fleet.beat()
    for house in (fleet.a, fleet.b):
        house.settle()
    assert len(fleet.a.steps_of(uuid) + fleet.b.steps_of(uuid)) == 1
    assert fleet.a.look(uuid).provision_state == "manageable"


def test_who_was_cut_off_itself_does_not_judge_others_at_once(fleet: Fleet, uptime: Uptime) -> None:
    uptime.seconds += 200  # nobody has reached the database
    fleet.silence(fleet.a)
    fleet.b.conductor._heartbeat()
    fleet.a.world.membership.beat()


def test_a_lease_ends_before_others_may_take_over(fleet: Fleet, uptime: Uptime) -> None:
    mine = fleet.a.world.membership
    uptime.seconds += fleet.a.settings.heartbeat_timeout - fleet.a.settings.heartbeat_interval - 1
    assert not mine.lapsed()
    uptime.seconds += 1
    assert mine.lapsed()
    mine.beat()
    assert not mine.lapsed()


def test_runs_that_outlast_the_lease_are_ended_with_one_line(
    fleet: Fleet, uptime: Uptime, caplog: pytest.LogCaptureFixture
) -> None:
    runs, run = LiveRuns(), LiveRun("run-1", Phase.POWER, (), 0, {})
    runs.add(run)
    watch = LeaseWatch(fleet.a.world.membership, runs)
    watch.start()
    uptime.seconds += fleet.a.settings.heartbeat_timeout
    assert run.cancelled.wait(5)
    time.sleep(3 * lease.PAUSE)
    watch.stop()
    assert [record.levelname for record in caplog.records if "No word" in record.message] == ["WARNING"]


def again(house: EngineHouse, folder: Path) -> None:
    """Enter under a house's name once more, with a state directory."""
    folder.mkdir(exist_ok=True)
    settings = house.settings.model_copy(update={"state_dir": folder})
    Membership(house.world.database, settings).register(["fake-hardware"])


def test_another_conductor_of_a_name_is_refused_while_the_first_is_alive(fleet: Fleet, tmp_path: Path) -> None:
    with pytest.raises(NameTaken, match=r"own conductor_host.* start in \d+ s"):
        again(fleet.a, tmp_path / "other")
    fleet.a.conductor._heartbeat()
    (copy := tmp_path / "copy").mkdir()
    shutil.copy(fleet.a.settings.state_dir / membership.IDENTITY, copy)
    with pytest.raises(NameTaken):
        again(fleet.a, copy)
    fleet.a.conductor._heartbeat()


def test_a_conductor_that_was_killed_may_enter_again_at_once(fleet: Fleet) -> None:
    again(fleet.a, fleet.a.settings.state_dir)
    with pytest.raises(Fenced):
        fleet.a.conductor._heartbeat()


def test_a_conductor_whose_state_directory_was_lost_enters_when_its_row_is_silent(fleet: Fleet, tmp_path: Path) -> None:
    fleet.silence(fleet.a)
    again(fleet.a, tmp_path / "new")
    with pytest.raises(Fenced):
        fleet.a.conductor._heartbeat()
    with pytest.raises(NameTaken):  # it was not lost, only paused
        fleet.a.conductor._rejoin()
    fleet.b.world.membership.leave()
    again(fleet.b, tmp_path / "after a stop")


def test_of_two_new_conductors_of_a_name_one_is_refused(fleet: Fleet, tmp_path: Path) -> None:
    settings = fleet.a.settings.model_copy(update={"conductor_host": "new", "state_dir": tmp_path})
    with ThreadPoolExecutor() as pool, writing(fleet.a.world.database) as session:
        conductors.register("new", session=session, identity="of another one")
        late = pool.submit(Membership(fleet.a.world.database, settings).register, ["fake-hardware"])
        time.sleep(0.3)
        session.commit()
        with pytest.raises(NameTaken):
            late.result(20)


def test_a_waiting_node_of_a_dead_conductor_goes_on_with_its_heartbeat(fleet: Fleet) -> None:
    uuid = fleet.node_of(fleet.a)
    fleet.a.change(uuid, provision_state="manageable")
    fleet.a.script["boot.boot_ramdisk"] = Waiting(WaitFor.AGENT)
    fleet.a.verb(uuid, "provide")
    fleet.a.settle()
    assert fleet.a.look(uuid).provision_state == "clean wait"
    fleet.beat(fleet.a)
    fleet.b.conductor._heartbeat()
    fleet.b.conductor._heartbeat()
    fleet.b.beat(uuid)
    fleet.b.settle()
    assert fleet.b.look(uuid).provision_state == "available"

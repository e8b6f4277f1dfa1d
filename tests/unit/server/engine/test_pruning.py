# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What is kept no longer goes, and nothing else."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import func, select

from rackwright.domain.outcomes import Learned, WaitFor, Waiting
from rackwright.domain.verbs import Phase
from rackwright.engine import recovery
from rackwright.engine.live import LiveRun
from rackwright.store.driver_call import DriverCall
from rackwright.store.operation import Operation
from rackwright.store.session import reading, writing
from tests.unit.server import databases
from tests.unit.server.engine.engine_house import EngineHouse

HOUR, DAY = 3600, 86400
_USED = {"used": 6 * DAY, "unused": 8 * DAY, "held": 8 * DAY}


@pytest.fixture
def house(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[EngineHouse]:
    backend = getattr(request, "param", "sqlite")
    url = "" if backend == "sqlite" else databases.emptied(backend)
    few: dict[str, Any] = {"node_operations_max_entries": 2, "deploy_logs_max_files": 2, "sync_power_state_interval": 0}
    built = EngineHouse(tmp_path, database_url=url, **few)
    built.script["power.read_power_state"] = Learned({"power_state": "power on"})
    yield built
    built.close()


def _count(house: EngineHouse, table: type) -> int:
    with reading(house.world.database) as session:
        return session.exec(select(func.count()).select_from(table)).one()


def _file(path: Path, age: float = 0, *, now: float) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, (now - age, now - age))
    return path


def _prune(house: EngineHouse) -> float:
    """Let the time come at which things are removed; return it, in seconds of the epoch."""
    house.clock.turn(HOUR + 1)
    house.settle()
    return house.clock().timestamp()


@pytest.mark.parametrize("house", databases.BACKENDS, indirect=True)
def test_only_the_newest_operations_of_a_node_are_kept(house: EngineHouse) -> None:
    uuids = [house.node() for _ in range(2)]
    for _ in range(4):
        for uuid in uuids:
            house.change(uuid, provision_state="enroll")
            house.verb(uuid, "manage")
            house.settle()
    newest = [house.operation(uuid).uuid for uuid in uuids]
    assert _count(house, Operation) == 8
    _prune(house)
    assert _count(house, Operation) == 4
    assert [house.operation(uuid).uuid for uuid in uuids] == newest


def test_an_operation_that_is_under_way_is_kept_beside_them(house: EngineHouse) -> None:
    uuid = house.node()
    for _ in range(3):
        house.change(uuid, provision_state="enroll")
        house.verb(uuid, "manage")
        house.settle()
    house.script["boot.boot_ramdisk"] = Waiting(WaitFor.AGENT)
    house.change(uuid, provision_state="manageable")
    house.verb(uuid, "provide")
    house.settle()
    house.clock.turn(HOUR + 1)
    house.conductor._duties[2].perform(house.clock())
    assert house.operation(uuid).status == "waiting"
    assert _count(house, Operation) == 3


def test_calls_of_methods_that_nobody_has_read_go_though_nobody_calls_again(house: EngineHouse) -> None:
    with writing(house.world.database) as session:
        session.add(DriverCall(driver="fake-hardware", status="running", conductor="one that is gone"))
        session.commit()
    _prune(house)
    assert _count(house, DriverCall) == 1
    house.clock.turn(DAY)
    house.settle()
    assert _count(house, DriverCall) == 0


def test_only_the_newest_logs_of_agents_are_kept(house: EngineHouse) -> None:
    now = house.clock().timestamp()
    files = [_file(house.settings.state_dir / "logs/deploy" / f"{age}.tar.gz", age, now=now) for age in range(4)]
    _prune(house)
    assert [file.exists() for file in files] == [True, True, False, False]


def test_what_was_downloaded_for_booting_goes_when_nobody_has_used_it_for_a_week(house: EngineHouse) -> None:
    now, cache = house.clock().timestamp(), house.settings.state_dir / "cache"
    files = [_file(cache / name, 9 * DAY, now=now) for name in ("used-1", "unused-1", "unused.part", "held-1")]
    locks = {name: _file(cache / f"{name}.lock", age, now=now) for name, age in _USED.items()}
    with locks["held"].open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _prune(house)
    assert [file.exists() for file in files] == [True, False, False, True]


def test_folders_of_dead_runs_are_few_also_while_the_daemon_runs_and_live_ones_stay(house: EngineHouse) -> None:
    runs = house.settings.state_dir / "runs"
    now = house.clock().timestamp()
    alive = LiveRun("alive", Phase.POWER, (), 0, {})
    house.conductor._runs.add(alive)
    _file(runs / "alive" / "env", now=now)
    os.utime(runs / "alive", (now - DAY, now - DAY))
    for number in range(recovery.KEPT_RUNS + 5):
        _file(runs / str(number) / "env", now=now)
    house.clock.turn(HOUR + 1)
    house.conductor.tick()
    assert len(list(runs.iterdir())) == recovery.KEPT_RUNS + 1
    assert (runs / "alive").exists()
    house.conductor._runs.remove("alive")


def test_folders_that_killed_runs_have_left_go_after_a_week(house: EngineHouse) -> None:
    now, folder = house.clock().timestamp(), house.settings.state_dir / "ansible" / "tmp"
    for name, age in (("old", 8 * DAY), ("new", DAY)):
        (folder / name).mkdir(parents=True)
        os.utime(folder / name, (now - age, now - age))
    _prune(house)
    assert [path.name for path in folder.iterdir()] == ["new"]

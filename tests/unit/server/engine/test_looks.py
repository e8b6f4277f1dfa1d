# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import threading
from pathlib import Path

from rackwright.domain.outcomes import Behind, Learned
from rackwright.engine import plan
from rackwright.engine.power_sync import BROAD, FAULT
from tests.unit.server.engine.engine_house import EngineHouse

ON, OFF = "power on", "power off"
READ = "power.read_power_state"


def _round(house: EngineHouse) -> None:
    house.clock.turn(121)
    house.settle()


def test_a_bmc_that_is_slower_than_its_wave_is_looked_at_once_more(house: EngineHouse) -> None:
    slow, quick = (house.node(provision_state="available") for _ in range(2))
    answers = iter((Behind(), Learned({"power_state": ON})))
    house.script[f"{slow} {READ}"] = lambda _: next(answers)
    house.script[READ] = Learned({"power_state": ON})
    _round(house)
    assert [house.look(uuid).power_state for uuid in (slow, quick)] == [ON, ON]
    assert [set(run.nodes) for run in house.runner.runs] == [{slow, quick}, {slow}]


def test_a_bmc_that_is_always_too_slow_ends_in_maintenance_and_holds_up_nobody(house: EngineHouse) -> None:
    dead, quick = (house.node(provision_state="available", power_state=ON) for _ in range(2))
    house.script[f"{dead} {READ}"] = Behind()
    house.script[READ] = Learned({"power_state": ON})
    for _ in range(4):
        _round(house)
    assert (house.look(dead).maintenance, house.look(dead).fault) == (True, FAULT)
    assert house.look(quick).maintenance is False


def test_a_look_at_the_whole_fleet_leaves_half_of_the_slots_to_operations(tmp_path: Path) -> None:
    house = EngineHouse(tmp_path, wave_size=1, run_slots=4)
    release = threading.Event()

    def hang(_: str) -> Learned:
        release.wait(20)
        return Learned({"power_state": ON})

    for _ in range(6 * BROAD):
        house.script[f"{house.node(provision_state='available')} {READ}"] = hang
    house.clock.turn(121)
    house.conductor.tick()
    urgent = house.node(provision_state="active", power_state=ON)
    house.script["power.set_power_state"] = Learned({"power_state": OFF})
    house.within(urgent, plan.start_power, settings=house.settings, catalog=house.world.catalog, target=OFF)
    while house.look(urgent).power_state != OFF:
        house.conductor.tick()
    assert [run.playbook for run in house.runner.runs].count("rackwright.metal.power_sync") == 2
    release.set()
    house.settle()
    assert len(house.runner.runs) == 7
    house.close()


def test_no_node_is_looked_at_twice_at_a_time(house: EngineHouse) -> None:
    release = threading.Event()

    def hang(_: str) -> Learned:
        release.wait(20)
        return Learned({"power_state": ON})

    house.node(provision_state="available")
    house.script[READ] = hang
    for _ in range(3):
        house.clock.turn(121)
        house.conductor.tick()
    assert len(house.runner.runs) == 1
    release.set()
    house.settle()

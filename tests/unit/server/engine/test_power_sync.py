# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from rackwright.domain.outcomes import Failed, Learned
from rackwright.engine.power_sync import FAULT, Look, Verdict, judge
from rackwright.store.node import Node
from tests.unit.server.engine.engine_house import EngineHouse

ON, OFF = "power on", "power off"


def _node(**columns: Any) -> Node:
    return Node(driver="fake-hardware", **columns)


@pytest.mark.parametrize(
    ("columns", "look", "failures", "force", "expected"),
    [
        ({"power_state": ON}, Look(ON), 2, True, (Verdict.NOTHING, 0)),
        ({"power_state": None}, Look(OFF), 0, True, (Verdict.STORE, 0)),
        ({"power_state": ON}, Look(OFF), 0, True, (Verdict.ENFORCE, 1)),
        ({"power_state": ON}, Look(OFF), 3, True, (Verdict.GIVE_UP, 0)),
        ({"power_state": ON}, Look(OFF), 0, False, (Verdict.STORE, 0)),
        ({"power_state": ON, "disable_power_off": True}, Look(OFF), 0, True, (Verdict.STORE, 0)),
        ({"power_state": ON}, Look(error="silent"), 0, True, (Verdict.NOTHING, 1)),
        ({"power_state": ON}, Look(error="silent"), 3, True, (Verdict.GIVE_UP, 0)),
        ({"power_state": None, "maintenance": True}, Look(ON), 0, True, (Verdict.RECOVER, 0)),
        ({"power_state": None, "maintenance": True}, Look(None), 0, True, (Verdict.NOTHING, 0)),
    ],
)
def test_one_look_at_one_node_has_one_verdict(
    columns: dict[str, Any], look: Look, failures: int, force: bool, expected: tuple[Verdict, int]
) -> None:
    assert judge(_node(**columns), look, failures, most=3, force=force) == expected


def sync(house: EngineHouse, times: int = 1, *, seconds: int = 121) -> None:
    for _ in range(times):
        house.clock.turn(seconds)
        house.settle()


def test_many_nodes_are_looked_at_in_one_run_that_only_reads(house: EngineHouse) -> None:
    uuids = [house.node(provision_state="manageable") for _ in range(5)]
    house.script["power.read_power_state"] = Learned({"power_state": ON})
    sync(house)
    assert [run.playbook for run in house.runner.runs] == ["rackwright.metal.power_sync"]
    assert {house.look(uuid).power_state for uuid in uuids} == {ON}


@pytest.mark.parametrize(
    "columns",
    [
        {"provision_state": "enroll"},
        {"provision_state": "clean wait"},
        {"provision_state": "available", "maintenance": True},
        {"provision_state": "available", "reservation": "somebody"},
        {"provision_state": "available", "target_power_state": ON},
    ],
)
def test_some_nodes_are_not_looked_at(house: EngineHouse, columns: dict[str, Any]) -> None:
    house.node(**columns)
    sync(house)
    assert house.played == []


def test_a_machine_that_was_switched_off_by_hand_is_switched_on_again(house: EngineHouse) -> None:
    uuid = house.node(provision_state="active", power_state=ON)
    house.script["power.read_power_state"] = Learned({"power_state": OFF})
    house.script["power.set_power_state"] = Learned({"power_state": ON})
    sync(house)
    assert "power.set_power_state" in house.steps_of(uuid)
    assert (house.look(uuid).power_state, house.look(uuid).target_power_state) == (ON, None)


def test_without_enforcement_reality_is_recorded(tmp_path: Path) -> None:
    house = EngineHouse(tmp_path, force_power_state_during_sync=False)
    uuid = house.node(provision_state="active", power_state=ON)
    house.script["power.read_power_state"] = Learned({"power_state": OFF})
    sync(house)
    assert (house.look(uuid).power_state, house.steps_of(uuid)) == (OFF, ["power.read_power_state"])
    house.close()


def test_a_bmc_that_stays_silent_puts_its_node_into_maintenance_until_it_answers(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available", power_state=ON)
    house.script["power.read_power_state"] = Failed("", "no route to host")
    sync(house)
    first = house.clock()
    sync(house, 2)
    assert house.look(uuid).maintenance is False
    sync(house)
    node = house.look(uuid)
    _, since, *_ = (node.maintenance_reason or "").split()
    assert abs(first - datetime.fromisoformat(since)) < timedelta(seconds=60)
    assert (node.maintenance, node.fault, node.power_state) == (True, FAULT, None)
    assert "no route to host" in (node.maintenance_reason or "")
    house.script["power.read_power_state"] = Learned({"power_state": ON})
    sync(house, seconds=301)
    node = house.look(uuid)
    assert (node.maintenance, node.fault, node.maintenance_reason, node.power_state) == (False, None, None, ON)


def test_maintenance_that_an_operator_asked_for_stays(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available", power_state=ON, maintenance=True)
    house.script["power.read_power_state"] = Learned({"power_state": ON})
    sync(house, seconds=301)
    assert house.look(uuid).maintenance is True


def test_a_node_that_was_taken_meanwhile_is_left_alone(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available", power_state=ON)

    def taken(node: str) -> Learned:
        house.change(node, reservation="somebody")
        return Learned({"power_state": OFF})

    house.script["power.read_power_state"] = taken
    sync(house)
    assert (house.look(uuid).power_state, house.steps_of(uuid)) == (ON, ["power.read_power_state"])


def test_zero_switches_the_sync_off(tmp_path: Path) -> None:
    house = EngineHouse(tmp_path, sync_power_state_interval=0)
    house.node(provision_state="available")
    sync(house, 3)
    assert house.played == []
    house.close()


def test_a_round_that_finds_everything_as_it_is_recorded_writes_nothing(house: EngineHouse) -> None:
    uuids = [house.node(provision_state="available", power_state=ON) for _ in range(3)]
    house.script["power.read_power_state"] = Learned({"power_state": ON})
    before = [house.look(uuid).updated_at for uuid in uuids]
    writes: list[str] = []
    event.listen(house.world.database, "before_cursor_execute", lambda *given: writes.append(given[2]))
    sync(house)
    assert {node for node, _ in house.played} == set(uuids)
    assert [house.look(uuid).updated_at for uuid in uuids] == before
    assert [text for text in writes if text.startswith(("UPDATE node ", "INSERT"))] == []


def test_the_health_that_a_bmc_tells_is_recorded_also_where_the_power_has_not_changed(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available", power_state=ON)
    for told, recorded in (("OK", "OK"), ("Critical", "Critical"), (None, "Critical")):
        facts = {"power_state": ON} | ({"health": told} if told else {})
        house.script["power.read_power_state"] = Learned(facts)
        sync(house)
        assert (house.look(uuid).health, house.look(uuid).power_state) == (recorded, ON)


def test_without_health_monitoring_no_health_is_recorded_whoever_is_told_of_it(tmp_path: Path) -> None:
    house = EngineHouse(tmp_path, enable_health_monitoring=False)
    looked, asked = house.node(provision_state="available", power_state=ON), house.node()
    house.script["power.read_power_state"] = Learned({"power_state": ON, "health": "OK"})
    house.verb(asked, "manage")
    sync(house)
    assert [(house.look(uuid).health, house.look(uuid).power_state) for uuid in (looked, asked)] == [(None, ON)] * 2
    house.close()


def test_what_is_remembered_of_a_node_goes_with_it(house: EngineHouse) -> None:
    kept, gone = (house.node(provision_state="available", power_state=ON) for _ in range(2))
    house.script["power.read_power_state"] = Failed("", "no route to host")
    sync(house)
    power = house.conductor._power
    assert set(power._failures) == set(power.ways._known) == {kept, gone}
    house.change(gone, provision_state="enroll")
    sync(house)
    assert set(power._failures) == set(power.ways._known) == {kept}

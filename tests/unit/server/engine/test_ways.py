# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What a run that only looks is told, and what is remembered from one look to the next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from rackwright.domain.verbs import Interface
from rackwright.engine.live import LiveRun
from rackwright.engine.looks import Looks
from rackwright.engine.subjects import Subjects
from rackwright.runner.base import PlaybookRun
from tests.unit.server.engine.engine_house import EngineHouse, offer

SYSTEM = "/redfish/v1/Systems/1"
BMC = {"redfish_address": "bmc.example.com", "redfish_username": "admin", "redfish_password": "canary-password"}


@pytest.fixture
def house(tmp_path: Any) -> Any:
    catalog = offer()
    power = catalog.implementation(Interface.POWER, "fake")
    known = {**catalog.implementations, (Interface.POWER, "fake"): replace(power, protocol="redfish")}
    built = EngineHouse(tmp_path, catalog=replace(catalog, implementations=known))
    yield built
    built.close()


def _look(house: EngineHouse, *uuids: str) -> tuple[LiveRun, Mapping[str, Any]]:
    """Return a run that looks at nodes, and what its door tells."""
    (run,) = house.conductor._power.runs_at(uuids)
    run.contexts = house.conductor._power.ways.contexts(run)
    return run, run.contexts


def _see(house: EngineHouse, run: LiveRun, *lines: Mapping[str, Any]) -> None:
    """Let the look come to its end with these lines."""
    looks = Looks(run)
    looks.lines([{"node": next(iter(run.operations)), "step": 0, **line} for line in lines])
    house.conductor._power.conclude(looks.seen)


def _saw(**way: Any) -> Mapping[str, Any]:
    return {"event": "facts", "facts": {"power_state": "power on", **({"look": way} if way else {})}}


def test_the_door_tells_how_to_reach_the_bmc_and_the_inventory_tells_one_host(house: EngineHouse) -> None:
    first, second = (house.node(driver_info=BMC, provision_state="available") for _ in range(2))
    run, _ = _look(house, first, second)
    house.conductor._runs.add(run)
    subjects = Subjects(house.world, house.conductor._runs)
    told = subjects.answer(run.run_id, 0, None)
    assert {uuid: told[uuid]["bmc"]["password"] for uuid in told} == dict.fromkeys((first, second), "canary-password")
    shown = subjects.answer(run.run_id, None, None)
    assert list(shown) == [first]
    house.conductor._runs.remove(run.run_id)


def test_a_path_that_was_found_out_is_known_to_the_next_look(house: EngineHouse) -> None:
    uuid = house.node(driver_info=BMC, provision_state="available")
    run, told = _look(house, uuid)
    assert told[uuid]["look"] == {"path": None, "closed": False}
    _see(house, run, _saw(path=SYSTEM, closed=True))
    assert _look(house, uuid)[1][uuid]["look"] == {"path": SYSTEM, "closed": True}
    _see(house, run, _saw())
    assert _look(house, uuid)[1][uuid]["look"] == {"path": SYSTEM, "closed": True}


def test_a_path_that_the_operator_names_is_known_at_once(house: EngineHouse) -> None:
    uuid = house.node(driver_info={**BMC, "redfish_system_id": SYSTEM}, provision_state="available")
    assert _look(house, uuid)[1][uuid]["look"] == {"path": SYSTEM, "closed": False}


@pytest.mark.parametrize("changed", [{"redfish_address": "other.example.com"}, {"redfish_password": "another"}])
def test_what_was_found_out_counts_for_the_same_bmc_and_account_only(
    house: EngineHouse, changed: dict[str, str]
) -> None:
    uuid = house.node(driver_info=BMC, provision_state="available")
    _see(house, _look(house, uuid)[0], _saw(path=SYSTEM, closed=True))
    house.change(uuid, driver_info={**BMC, **changed})
    assert _look(house, uuid)[1][uuid]["look"] == {"path": None, "closed": False}


def test_a_way_that_led_nowhere_is_found_out_anew(house: EngineHouse) -> None:
    uuid = house.node(driver_info=BMC, provision_state="available")
    run, _ = _look(house, uuid)
    _see(house, run, _saw(path=SYSTEM, closed=False))
    _see(house, run, {"event": "failed", "cause": "it is silent", "action": "look"})
    assert _look(house, uuid)[1][uuid]["look"] == {"path": None, "closed": False}


def test_a_run_is_told_of_no_node_that_was_deleted_meanwhile(house: EngineHouse) -> None:
    uuid = house.node(driver_info=BMC, provision_state="available")
    (run,) = house.conductor._power.runs_at([uuid])
    run.operations = {uuid: None, "gone": None}
    assert list(house.conductor._power.ways.contexts(run)) == [uuid]


def test_looks_are_runs_like_others(house: EngineHouse) -> None:
    uuid = house.node(driver_info=BMC, provision_state="available")
    house.clock.turn(121)
    house.settle()
    assert [(type(run), run.nodes) for run in house.runner.runs] == [(PlaybookRun, (uuid,))]

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlmodel import Session

from rackwright.domain.outcomes import Failed, Learned
from rackwright.store.allocation import ALLOCATIONS, Allocation, of_node
from rackwright.store.session import reading, writing
from tests.unit.server.engine.engine_house import STEPS, EngineHouse

ON = "power on"
FREE = {"provision_state": "available", "power_state": ON, "resource_class": "metal"}
READ = "power.read_power_state"


def allocate(house: EngineHouse, **fields: Any) -> str:
    with writing(house.world.database) as session:
        row = Allocation(**({"resource_class": "metal"} | fields))
        session.add(row)
        session.commit()
        return row.uuid


def found(house: EngineHouse, uuid: str) -> Allocation:
    with reading(house.world.database) as session:
        return ALLOCATIONS.get(uuid, session=session)


def outcome(house: EngineHouse, **fields: Any) -> Allocation:
    uuid = allocate(house, **fields)
    house.settle()
    return found(house, uuid)


def test_a_free_node_of_the_class_is_given(house: EngineHouse) -> None:
    uuid = house.node(**FREE, traits=["CUSTOM_A", "CUSTOM_B"], instance_info={"capabilities": "x:y"})
    given = outcome(house, traits=["CUSTOM_B"])
    node = house.look(uuid)
    assert (given.state, given.node_uuid, given.last_error) == ("active", uuid, None)
    assert (node.instance_uuid, node.allocation_uuid, node.reservation) == (given.uuid, given.uuid, None)
    assert node.instance_info == {"capabilities": "x:y", "traits": ["CUSTOM_B"]}


def test_no_two_allocations_get_the_same_node(house: EngineHouse) -> None:
    nodes = {house.node(**FREE) for _ in range(3)}
    wishes = [allocate(house) for _ in range(5)]
    house.settle()
    ends = [found(house, wish) for wish in wishes]
    assert Counter(each.state for each in ends) == {"active": 3, "error": 2}
    assert {each.node_uuid for each in ends} == {*nodes, None}


@pytest.mark.parametrize(
    ("columns", "wish", "reason"),
    [
        ({"resource_class": "other"}, {}, "no node has the resource class metal. Set it on a node"),
        ({"owner": "p1"}, {"owner": "p2"}, "belongs to project p2"),
        ({}, {"owner": "p2"}, "belongs to project p2"),
        ({"parent_node": "11111111-1111-4111-8111-111111111111"}, {}, "no node has the resource class"),
        ({}, {"candidate_nodes": ["11111111-1111-4111-8111-111111111111"]}, "is one of the candidate_nodes"),
        ({"traits": ["CUSTOM_A"]}, {"traits": ["CUSTOM_A", "CUSTOM_B"]}, "all of the traits CUSTOM_A, CUSTOM_B"),
        ({"provision_state": "manageable"}, {}, "not even the one node that fits so far is in state available"),
        ({"instance_uuid": "11111111-1111-4111-8111-111111111111"}, {}, "is without an instance"),
        ({"maintenance": True}, {}, "is out of maintenance"),
    ],
)
def test_a_wish_that_no_node_meets_ends_in_error_and_says_why(
    house: EngineHouse, columns: dict[str, Any], wish: dict[str, Any], reason: str
) -> None:
    uuid = house.node(**(FREE | columns))
    before = house.look(uuid).instance_uuid
    failed = outcome(house, **wish)
    assert (failed.state, failed.node_uuid) == ("error", None)
    assert (failed.last_error or "").startswith(f"Failed to process allocation {failed.uuid}: ")
    assert reason in (failed.last_error or "")
    assert house.look(uuid).instance_uuid == before


@pytest.mark.parametrize("columns", [{"owner": "p1"}, {"lessee": "p1", "owner": "p2"}])
def test_an_owner_gets_nodes_that_it_owns_or_rents(house: EngineHouse, columns: dict[str, Any]) -> None:
    for other in ({}, {"owner": "p3"}, {"lessee": "p3"}):
        house.node(**FREE, **other)
    mine = house.node(**FREE, **columns)
    assert outcome(house, owner="p1").node_uuid == mine


def test_the_node_with_the_name_of_the_allocation_goes_first(house: EngineHouse) -> None:
    for number in range(8):
        house.node(**FREE, name=f"other-{number}")
    wanted = house.node(**FREE, name="mine")
    assert outcome(house, name="mine").node_uuid == wanted


def test_the_power_of_a_node_is_read_before_it_is_given(house: EngineHouse) -> None:
    uuid = house.node(**(FREE | {"power_state": None}))
    house.script[READ] = Learned({"power_state": ON})
    assert outcome(house).node_uuid == uuid
    assert house.look(uuid).power_state == ON
    assert house.steps_of(uuid) == [READ]


def test_a_node_whose_power_is_known_needs_no_look_at_others(house: EngineHouse) -> None:
    house.node(**(FREE | {"power_state": None}))
    ready = house.node(**FREE)
    assert outcome(house).node_uuid == ready
    assert house.played == []


def test_a_node_whose_power_cannot_be_read_is_left_out(house: EngineHouse) -> None:
    silent = house.node(**(FREE | {"power_state": None, "name": "mine"}))
    house.script[f"{silent} {READ}"] = Failed("", "the BMC is silent.", "")
    other = house.node(**FREE)
    assert outcome(house, name="mine").node_uuid == other
    failed = outcome(house)
    assert failed.state == "error"
    assert "the power of no node that is left can be read (mine: the BMC is silent)" in (failed.last_error or "")


def test_a_node_whose_interface_reads_no_power_is_left_out(tmp_path: Path) -> None:
    house = EngineHouse(tmp_path, steps=[each for each in STEPS if each.name != "read_power_state"])
    house.node(**(FREE | {"power_state": None}))
    assert "its power interface cannot be read" in (outcome(house).last_error or "")
    house.close()


def test_a_node_that_somebody_holds_is_tried_again(house: EngineHouse) -> None:
    uuid = house.node(**FREE, reservation="somebody")
    wish = allocate(house)
    house.settle()
    assert found(house, wish).state == "allocating"
    house.change(uuid, reservation=None)
    house.clock.turn(1.1)
    house.settle()
    assert found(house, wish).node_uuid == uuid


def test_a_node_that_somebody_holds_for_long_is_given_up(house: EngineHouse) -> None:
    house.node(**FREE, reservation="somebody")
    wish = allocate(house)
    for _ in range(4):
        house.settle()
        house.clock.turn(1.1)
    failed = found(house, wish)
    assert failed.state == "error"
    assert "held by somebody else in 4 tries. Wait until" in (failed.last_error or "")


class Killed(BaseException):
    """The end of a conductor at an exact point."""


def test_a_conductor_killed_between_choosing_and_holding_leaves_the_wish_to_the_next(house: EngineHouse) -> None:
    uuid = house.node(**FREE)
    wish = allocate(house)

    def kill(*arguments: Any) -> None:
        if str(arguments[2]).startswith("UPDATE node"):
            raise Killed

    event.listen(house.world.database, "before_cursor_execute", kill)
    with pytest.raises(Killed):
        house.settle()
    event.remove(house.world.database, "before_cursor_execute", kill)
    node = house.look(uuid)
    assert (node.instance_uuid, node.reservation, found(house, wish).state) == (None, None, "allocating")
    house.reopen()
    house.settle()
    assert (found(house, wish).node_uuid, house.look(uuid).instance_uuid) == (uuid, wish)


def test_a_conductor_killed_while_it_reads_the_power_leaves_the_wish_to_the_next(house: EngineHouse) -> None:
    uuid = house.node(**(FREE | {"power_state": None}))
    wish = allocate(house)
    house.script[READ] = Learned({})  # its run ends without a word about the power
    house.conductor.tick()
    house.reopen()
    house.script[READ] = Learned({"power_state": ON})
    house.settle()
    assert found(house, wish).node_uuid == uuid


def test_a_wish_that_is_withdrawn_meanwhile_takes_nothing(house: EngineHouse) -> None:
    uuid = house.node(**(FREE | {"power_state": None}))
    wish = allocate(house)

    def withdraw(_: str) -> Learned:
        with writing(house.world.database) as session:
            session.delete(ALLOCATIONS.get(wish, session=session))
            session.commit()
        return Learned({"power_state": ON})

    house.script[READ] = withdraw
    house.settle()
    assert (house.look(uuid).instance_uuid, house.look(uuid).power_state) == (None, ON)


def test_undeploying_removes_the_allocation(house: EngineHouse) -> None:
    uuid = house.node(**FREE)
    outcome(house)
    house.change(uuid, provision_state="active")
    house.verb(uuid, "deleted")
    house.settle()
    node = house.look(uuid)
    assert (node.instance_uuid, node.allocation_uuid, node.instance_info) == (None, None, {})
    with Session(house.world.database) as session:
        assert of_node(uuid, session=session) is None

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Nodes that live on the power of their parent: off before it, on after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rackwright.domain.errors import NodeLocked
from rackwright.domain.outcomes import Failed, Learned
from rackwright.engine import plan
from rackwright.store import node as nodes
from rackwright.store.session import writing
from tests.unit.server.engine.verbs_house import VerbsHouse

ON, OFF = Learned({"power_state": "power on"}), Learned({"power_state": "power off"})


@pytest.fixture
def house(tmp_path: Path) -> VerbsHouse:
    found = VerbsHouse(tmp_path)
    found.script |= {"power.power_on": ON, "power.power_off": OFF, "power.set_power_state": ON}
    return found


def power(house: VerbsHouse, uuid: str, target: str) -> None:
    with writing(house.world.database) as session:
        plan.start_power(
            session=session,
            settings=house.settings,
            catalog=house.world.catalog,
            node=nodes.get(uuid, session=session, lock=True),
            target=target,
        )
        session.commit()


def played(house: VerbsHouse) -> list[tuple[str, str]]:
    return [(uuid, key) for uuid, key in house.played]


def chassis(house: VerbsHouse, state: str, *children: dict[str, Any]) -> tuple[str, list[str]]:
    """Return a node and its children, all with this power state."""
    parent = house.node(provision_state="manageable", power_state=state)
    below = [
        house.node(provision_state="available", parent_node=parent, **{"power_state": state, **more})
        for more in children
    ]
    return parent, below


@pytest.mark.parametrize("target", ["power off", "soft power off"])
def test_children_are_powered_off_before_their_parent(house: VerbsHouse, target: str) -> None:
    own_supply = {"driver_info": {"has_dedicated_power_supply": "true"}}
    parent, (fed, own, off) = chassis(house, "power on", {}, own_supply, {"power_state": "power off"})
    house.script[f"{parent} power.set_power_state"] = OFF
    power(house, parent, target)
    house.settle()
    assert played(house) == [(fed, "power.power_off"), (parent, "power.set_power_state")]
    states = [house.look(uuid).power_state for uuid in (parent, fed, own, off)]
    assert states == ["power off", "power off", "power on", "power off"]
    assert [house.look(uuid).target_power_state for uuid in (parent, fed)] == [None, None]
    assert house.look(fed).provision_state == "available"


@pytest.mark.parametrize("target", ["power on", "rebooting"])
def test_the_parent_is_powered_on_before_its_child(house: VerbsHouse, target: str) -> None:
    parent, (child, other) = chassis(house, "power off", {}, {})
    power(house, child, target)
    house.settle()
    assert played(house) == [(parent, "power.power_on"), (child, "power.set_power_state")]
    assert [house.look(uuid).power_state for uuid in (parent, child, other)] == ["power on", "power on", "power off"]


def test_a_parent_that_is_on_and_one_that_does_not_feed_the_child_are_left_alone(house: VerbsHouse) -> None:
    _, (child,) = chassis(house, "power on", {"power_state": "power off"})
    _, (own,) = chassis(house, "power off", {"driver_info": {"has_dedicated_power_supply": True}})
    for uuid in (child, own):
        power(house, uuid, "power on")
    house.settle()
    assert sorted(played(house)) == sorted((uuid, "power.set_power_state") for uuid in (child, own))


def test_a_child_that_stays_on_keeps_its_parent_on(house: VerbsHouse) -> None:
    parent, (child,) = chassis(house, "power on", {})
    house.script[f"{child} power.power_off"] = Failed("", "its BMC is silent")
    power(house, parent, "power off")
    house.settle()
    found = house.look(parent)
    assert (found.power_state, found.target_power_state, found.reservation) == ("power on", None, None)
    assert f"child node {child}" in (found.last_error or "") and "silent" in (found.last_error or "")
    assert "power.set_power_state" not in house.steps_of(parent)


def test_a_parent_that_somebody_works_on_fails_the_power_action_of_its_child(house: VerbsHouse) -> None:
    parent, (child,) = chassis(house, "power off", {})
    house.change(parent, reservation="somebody else")
    power(house, child, "power on")
    house.settle()
    found = house.look(child)
    assert (found.power_state, found.target_power_state) == ("power off", None)
    assert parent in (found.last_error or "") and "somebody else" in (found.last_error or "")


def test_a_power_action_that_waits_for_other_nodes_holds_its_node(house: VerbsHouse) -> None:
    parent, (child,) = chassis(house, "power on", {})
    house.change(child, reservation="somebody else")
    power(house, parent, "power off")
    house.settle()
    assert house.look(parent).target_power_state == "power off"
    with pytest.raises(NodeLocked):
        power(house, parent, "power on")
    house.change(child, reservation=None)
    house.script[f"{parent} power.set_power_state"] = OFF
    house.clock.turn(6)
    house.settle()
    assert [house.look(uuid).power_state for uuid in (parent, child)] == ["power off", "power off"]

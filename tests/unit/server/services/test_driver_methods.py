# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Methods of drivers: declared by a role as those of nodes are, run for no node."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

from rackwright.domain.errors import DriverNotFound, Invalid, MissingParameter, OperationFailed
from rackwright.domain.outcomes import Failed, Learned, WaitFor, Waiting
from rackwright.domain.passthru import Passthru
from rackwright.domain.steps import ArgInfo
from rackwright.domain.verbs import Interface, Phase
from rackwright.engine import driver_calls
from rackwright.runner.fake import Death
from rackwright.services import vendor
from rackwright.services.context import Context
from rackwright.store.driver_call import DriverCall
from rackwright.store.session import reading, writing
from tests.unit.server.engine.engine_house import EngineHouse, offer, step

DRIVER = "fake-hardware"
METHODS = (
    step(Phase.MANAGEMENT, Interface.VENDOR, "of_nodes", passthru=Passthru(description="Of nodes.")),
    step(
        Phase.MANAGEMENT,
        Interface.VENDOR,
        "find_racks",
        batched=True,
        passthru=Passthru(description="Finds racks.", of="driver", wait=True, http_methods=("GET", "POST")),
        argsinfo={"room": ArgInfo(required=True)},
    ),
    step(
        Phase.MANAGEMENT,
        Interface.VENDOR,
        "sweep",
        variables={"room": "acme_room"},
        passthru=Passthru(description="Sweeps.", of="driver"),
        argsinfo={"room": ArgInfo()},
    ),
)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[EngineHouse]:
    found = EngineHouse(tmp_path, catalog=offer(METHODS))
    yield found
    found.close()


def inside(house: EngineHouse, do: Callable[[Context], Any]) -> Any:
    world = house.world
    with reading(world.database) as session:
        context = Context(
            session=session,
            engine=world.database,
            settings=house.settings,
            catalog=world.catalog,
            sealer=world.sealer,
            minor=115,
        )
        return do(context)


def call(house: EngineHouse, method: str, args: dict[str, Any], verb: str = "POST", driver: str = DRIVER) -> Any:
    """Call a method as the API does, while the conductor works."""

    def send(context: Context) -> Any:
        return asyncio.run(vendor.call_driver(driver, method, verb, args, context=context))

    with ThreadPoolExecutor(1) as thread:
        answer = thread.submit(inside, house, send)
        while not answer.done():
            house.settle()
    return answer.result()


def stored(house: EngineHouse) -> list[DriverCall]:
    with reading(house.world.database) as session:
        return list(session.exec(select(DriverCall)).all())


def test_a_driver_and_a_node_have_methods_of_their_own(house: EngineHouse) -> None:
    found = inside(house, lambda context: vendor.methods_of_driver(DRIVER, context=context))
    assert sorted(found) == ["find_racks", "sweep"]
    uuid = house.node()
    assert sorted(inside(house, lambda context: vendor.methods(uuid, context=context))) == ["of_nodes"]


def test_a_method_that_is_waited_for_returns_what_its_step_found_out(house: EngineHouse) -> None:
    house.script["vendor.find_racks"] = Learned({"result": ["r1", "r2"]})
    assert call(house, "find_racks", {"room": "B"}, "GET") == (True, ["r1", "r2"])
    ((host, name),) = house.played
    assert name == "vendor.find_racks" and house.runner.runs[0].playbook == "rackwright.metal.management"
    assert house.runner.runs[0].nodes == (host,)
    assert stored(house) == [], "a call whose answer was read is forgotten"


def test_the_run_of_a_method_is_told_the_driver_and_the_arguments_and_no_node(house: EngineHouse) -> None:
    told: list[Any] = []

    def look(host: str) -> None:
        run = house.runner.runs[-1].run_id
        told.append(house.conductor._door.answer(run, None, None)[host])
        told.append(house.conductor._door.answer(run, 0, None)[host])

    house.script["vendor.sweep"] = look
    assert call(house, "sweep", {"room": "B"}) == (False, None)
    house.settle()
    inventory, context = told
    assert (inventory["node"]["driver"], inventory["variables"]) == (DRIVER, {"acme_room": "B"})
    assert context["step"] == {"name": "sweep", "interface": "vendor", "index": 0, "args": {"room": "B"}}


@pytest.mark.parametrize(("refused", "error"), [(True, Invalid), (False, OperationFailed)])
def test_a_method_that_fails_tells_why(house: EngineHouse, refused: bool, error: type[Exception]) -> None:
    house.script["vendor.find_racks"] = Failed("", "the room is dark", "Switch on the light.", refused)
    with pytest.raises(error, match=r"vendor\.find_racks failed: the room is dark\. Switch on the light"):
        call(house, "find_racks", {"room": "B"})


def test_a_method_of_a_driver_cannot_wait(house: EngineHouse) -> None:
    house.script["vendor.find_racks"] = Waiting(WaitFor.POLL, 1)
    with pytest.raises(OperationFailed, match="Correct the role"):
        call(house, "find_racks", {"room": "B"})


def test_a_run_that_dies_fails_the_call(house: EngineHouse) -> None:
    def die(_: str) -> None:
        raise Death("killed")

    house.script["vendor.find_racks"] = die
    with pytest.raises(OperationFailed, match="killed"):
        call(house, "find_racks", {"room": "B"})


def test_wrong_calls_are_refused(house: EngineHouse) -> None:
    with pytest.raises(Invalid, match="of_nodes is not one of driver fake-hardware; its methods: find_racks, sweep"):
        call(house, "of_nodes", {})
    with pytest.raises(Invalid, match="called with GET, POST, not with PUT"):
        call(house, "find_racks", {"room": "B"}, "PUT")
    with pytest.raises(MissingParameter, match="room of vendor method find_racks"):
        call(house, "find_racks", {})
    with pytest.raises(DriverNotFound):
        call(house, "find_racks", {"room": "B"}, driver="unheard-of")
    assert stored(house) == []


def test_a_call_whose_conductor_has_died_fails_when_it_is_back(house: EngineHouse) -> None:
    plan_one(house)
    with writing(house.world.database) as session:
        (row,) = session.exec(select(DriverCall)).all()
        row.status, row.conductor = "running", house.settings.conductor_host
        session.add(row)
        session.commit()
    house.reopen()
    (row,) = stored(house)
    assert row.status == "failed" and "in the middle" in (row.error or "")


def test_an_answer_that_nobody_reads_is_forgotten_after_a_day(house: EngineHouse) -> None:
    plan_one(house)
    house.settle()
    assert [each.status for each in stored(house)] == ["done"]
    with writing(house.world.database) as session:
        (row,) = session.exec(select(DriverCall)).all()
        row.created_at -= timedelta(days=2)
        session.add(row)
        session.commit()
    plan_one(house)
    house.settle()
    assert len(stored(house)) == 1


def test_two_conductors_do_not_take_up_the_same_call(house: EngineHouse) -> None:
    plan_one(house)
    first, second = (driver_calls.DriverCalls(house.world) for _ in range(2))
    assert [len(list(each.work(5))) for each in (first, second)] == [1, 0]


def plan_one(house: EngineHouse) -> None:
    (wanted,) = (each for each in METHODS if each.name == "sweep")
    with writing(house.world.database) as session:
        driver_calls.plan(DRIVER, wanted, {}, session=session)
        session.commit()

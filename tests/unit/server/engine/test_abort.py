# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from rackwright.domain.errors import InvalidState, InvalidTransition
from rackwright.domain.outcomes import Outcome, WaitFor, Waiting
from rackwright.domain.steps import StepRequest
from rackwright.domain.verbs import Interface, Phase
from rackwright.engine import plan
from tests.unit.server.engine.engine_house import EngineHouse, step

FOR_AGENT = Waiting(WaitFor.AGENT)


def _abort(house: EngineHouse, uuid: str) -> None:
    house.within(uuid, plan.abort, settings=house.settings, user="alice")


def _held(house: EngineHouse, *after: StepRequest) -> str:
    uuid = house.node(provision_state="manageable")
    house.verb(uuid, "clean", StepRequest(interface=Interface.DEPLOY, step="hold"), *after)
    house.settle()
    return uuid


def test_cleaning_that_waits_for_the_boot_is_aborted_and_cleaned_up(house: EngineHouse) -> None:
    uuid = house.node(provision_state="manageable")
    house.script["boot.boot_ramdisk"] = FOR_AGENT
    house.verb(uuid, "provide")
    house.settle()
    _abort(house, uuid)
    house.settle()
    node = house.look(uuid)
    assert (node.provision_state, node.target_provision_state) == ("clean failed", "available")
    assert (node.maintenance, node.reservation, house.operation(uuid).status) == (False, None, "aborted")
    assert "aborted" in (node.last_error or "")
    assert house.steps_of(uuid)[-1] == "boot.clean_up_ramdisk"


def test_a_step_that_cannot_be_cut_short_comes_to_its_end_before_the_abort(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available")
    house.script["deploy.write_image"] = lambda _: (
        FOR_AGENT if house.steps_of(uuid).count("deploy.write_image") < 2 else None
    )
    house.verb(uuid, "active")
    house.settle()
    _abort(house, uuid)
    house.settle()
    assert house.look(uuid).provision_state == "wait call-back", "the image is still being written"
    house.beat(uuid)
    house.settle()
    node = house.look(uuid)
    assert (node.provision_state, house.operation(uuid).status) == ("deploy failed", "aborted")
    assert node.instance_info == {}


@pytest.mark.parametrize("last_abortable", [True, False])
@pytest.mark.parametrize("running", [0, 2])
def test_abort_on_last_step_ignored(tmp_path: Path, last_abortable: bool, running: int) -> None:
    """Three steps of 10 s; the last one, and so the first, may or may not be cut short."""
    names = ["first", "second", "third"]
    abortable = [last_abortable, True, last_abortable]
    steps = [
        step(Phase.CLEAN, Interface.BIOS, name, abortable=each, batched=False)
        for name, each in zip(names, abortable, strict=True)
    ]
    house = EngineHouse(tmp_path, steps=steps)
    looks = Counter[str]()

    def play(name: str) -> Outcome | None:
        looks[name] += 1
        return Waiting(WaitFor.POLL, 10) if looks[name] == 1 else None

    for name in names:
        house.script[f"bios.{name}"] = lambda _, name=name: play(name)
    uuid = house.node(provision_state="manageable")
    house.verb(uuid, "clean", *(StepRequest(interface=Interface.BIOS, step=name) for name in names))
    with pytest.raises(InvalidState):  # while a run has the node; the API says 409
        _abort(house, uuid)
    house.settle()
    for _ in range(running):
        house.clock.turn(11)
        house.settle()
    assert house.look(uuid).clean_step["step"] == names[running]
    _abort(house, uuid)
    house.settle()
    if not last_abortable:
        assert house.look(uuid).provision_state == "clean wait", "the step comes to its end"
        house.clock.turn(11)
        house.settle()
        assert looks[names[running]] == 2
    node = house.look(uuid)
    assert (node.provision_state, house.operation(uuid).status) == ("clean failed", "aborted")
    assert "aborted by alice" in (node.last_error or "")
    assert sum(looks.values()) == 2 * running + (1 if last_abortable else 2)
    house.close()


def test_an_aborted_inspection_fails_as_inspection(house: EngineHouse) -> None:
    uuid = house.node(provision_state="manageable")
    house.script["inspect.await_inventory"] = Waiting(WaitFor.INSPECTION)
    house.verb(uuid, "inspect")
    house.settle()
    _abort(house, uuid)
    house.settle()
    assert house.look(uuid).provision_state == "inspect failed"


def test_aborted_service_goes_back_to_the_instance_and_says_so(house: EngineHouse) -> None:
    uuid = house.node(provision_state="active")
    house.script["bios.apply_configuration"] = FOR_AGENT
    house.verb(uuid, "service", StepRequest(interface=Interface.BIOS, step="apply_configuration"))
    house.settle()
    _abort(house, uuid)
    house.settle()
    node = house.look(uuid)
    assert (node.provision_state, node.target_provision_state) == ("active", None)
    assert "aborted" in (node.last_error or "")


def test_a_failed_service_is_left_by_abort_without_any_work(house: EngineHouse) -> None:
    uuid = house.node(provision_state="service failed", target_provision_state="active")
    _abort(house, uuid)
    assert (house.look(uuid).provision_state, house.look(uuid).target_provision_state) == ("active", None)


def test_nothing_can_be_aborted_where_nothing_goes_on(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available")
    with pytest.raises(InvalidState):
        _abort(house, uuid)


def test_a_hold_step_holds_until_unhold_and_the_rest_follows(house: EngineHouse) -> None:
    uuid = _held(house, StepRequest(interface=Interface.BIOS, step="factory_reset"))
    node = house.look(uuid)
    assert (node.provision_state, node.reservation, node.target_provision_state) == ("clean hold", None, "manageable")
    house.clock.turn(10**6)
    house.settle()
    assert house.look(uuid).provision_state == "clean hold", "a hold has no limit"
    house.within(uuid, plan.unhold)
    house.settle()
    assert house.look(uuid).provision_state == "manageable"
    assert house.steps_of(uuid)[-1] == "bios.factory_reset"


def test_a_held_node_can_be_aborted_whatever_comes_next(house: EngineHouse) -> None:
    uuid = _held(house, StepRequest(interface=Interface.RAID, step="create_configuration"))
    _abort(house, uuid)
    house.settle()
    node = house.look(uuid)
    assert (node.provision_state, node.target_provision_state) == ("clean failed", "manageable")
    assert house.steps_of(uuid) == []


def test_only_a_held_node_can_be_let_go_on(house: EngineHouse) -> None:
    uuid = house.node(provision_state="manageable")
    with pytest.raises(InvalidTransition):
        house.within(uuid, plan.unhold)


def test_a_wait_step_waits_its_seconds_up_to_the_limit(house: EngineHouse) -> None:
    uuid = house.node(provision_state="manageable")
    house.verb(uuid, "clean", StepRequest(interface=Interface.DEPLOY, step="wait", args={"seconds": 9999}))
    house.settle()
    assert house.look(uuid).provision_state == "clean wait"
    house.clock.turn(31)
    house.settle()
    assert house.look(uuid).provision_state == "manageable"


def test_a_node_that_waits_can_be_deleted_and_its_operation_ends(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available", automated_clean=False)
    house.script["deploy.write_image"] = FOR_AGENT
    deployment = house.verb(uuid, "active")
    house.settle()
    house.verb(uuid, "deleted")
    house.settle()
    assert house.look(uuid).provision_state == "available"
    assert house.operation(uuid).uuid != deployment.uuid

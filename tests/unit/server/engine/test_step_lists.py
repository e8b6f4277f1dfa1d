# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What clients ask for is carried out: reserved steps, reboots of the agent, child nodes, the ramdisk or none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rackwright.domain.errors import InvalidStep
from rackwright.domain.outcomes import Failed, Learned, WaitFor, Waiting
from tests.unit.server.engine.verbs_house import VerbsHouse

OFF, ON = Learned({"power_state": "power off"}), Learned({"power_state": "power on"})
REDFISH = {
    "driver": "redfish",
    "driver_info": {
        "redfish_address": "https://192.0.2.1",
        **{f"{kind}_{part}": "http://192.0.2.2/x" for kind in ("deploy", "rescue") for part in ("kernel", "ramdisk")},
    },
    "rescue_interface": "agent",
}
REPORTED = {
    "generic": [
        {"step": "flash", "interface": "deploy", "priority": 0, "reboot_requested": True},
        {"step": "burnin_cpu", "interface": "deploy", "priority": 0},
    ]
}


def step(key: str, **more: Any) -> dict[str, Any]:
    interface, _, name = key.partition(".")
    return {"interface": interface, "step": name, **more}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[VerbsHouse]:
    built = VerbsHouse(tmp_path)
    yield built
    built.close()


@pytest.fixture
def machine(house: VerbsHouse) -> str:
    """Return a node of Redfish in use, whose agent comes with a heartbeat after each boot and reports steps."""
    uuid = house.node(**REDFISH, provision_state="active", power_state="power on")
    house.until_agent(uuid, "boot.boot_ramdisk")
    house.script[f"{uuid} deploy.agent_steps"] = Learned({"agent_steps": REPORTED})
    house.script[f"{uuid} power.power_off"] = OFF
    house.script[f"{uuid} boot.clean_up_ramdisk"] = OFF
    house.script[f"{uuid} deploy.boot_instance"] = ON
    return uuid


def beat(house: VerbsHouse, uuid: str) -> None:
    house.beat(uuid)
    house.settle()


AROUND = ["boot.boot_ramdisk", "boot.boot_ramdisk", "deploy.agent_steps"]  # once to boot, once to find the agent
AFTER = ["boot.clean_up_ramdisk", "deploy.boot_instance"]


def test_an_agent_that_asks_for_a_reboot_is_booted_again_and_the_list_goes_on(house: VerbsHouse, machine: str) -> None:
    house.send(machine, "service", service_steps=[step("deploy.flash"), step("deploy.burnin_cpu")])
    house.settle()
    beat(house, machine)
    node = house.look(machine)
    assert node.provision_state == "service wait"
    assert "agent_url" not in node.driver_internal_info, "the agent of the boot before is not there any more"
    assert node.driver_internal_info["agent_secret_token_pregenerated"], "the image that is booted has the token in it"
    beat(house, machine)
    again = ["power.power_off", "boot.boot_ramdisk", "boot.boot_ramdisk"]
    assert house.steps_of(machine) == [*AROUND, "deploy.flash", *again, "deploy.burnin_cpu", *AFTER]
    assert (house.look(machine).provision_state, house.look(machine).power_state) == ("active", "power on")


@pytest.mark.parametrize(
    ("name", "between"),
    [
        ("reboot", ["power.power_off", "boot.boot_ramdisk", "boot.boot_ramdisk"]),
        ("power_on", ["boot.boot_ramdisk"]),
    ],
)
def test_a_power_step_between_steps_of_the_agent_leaves_it_running(
    house: VerbsHouse, machine: str, name: str, between: list[str]
) -> None:
    wanted = [step("deploy.burnin_cpu"), step(f"power.{name}"), step("deploy.burnin_cpu")]
    house.send(machine, "service", service_steps=wanted)
    house.settle()
    beat(house, machine)
    beat(house, machine)
    middle = ["deploy.burnin_cpu", *between, "deploy.burnin_cpu"]
    assert house.steps_of(machine) == [*AROUND, *middle, *AFTER]
    assert house.look(machine).provision_state == "active"


def test_a_machine_that_must_stay_on_is_not_switched_off_by_a_step(house: VerbsHouse, machine: str) -> None:
    house.change(machine, disable_power_off=True)
    with pytest.raises(InvalidStep, match="disable_power_off"):
        house.send(machine, "service", service_steps=[step("power.power_off")])
    assert house.go(machine, "service", service_steps=[step("power.reboot")]) == "active"


@pytest.mark.parametrize(
    ("info", "whole"),
    [
        ({}, True),
        ({"kernel": "k", "ramdisk": "r"}, False),
        ({"kernel": "k", "ramdisk": "r", "image_type": "whole-disk"}, True),
        ({"image_type": "partition"}, False),
    ],
)
def test_an_adopted_node_knows_the_kind_of_its_image(house: VerbsHouse, info: dict[str, str], whole: bool) -> None:
    uuid = house.node(provision_state="manageable", instance_info=info)
    assert house.go(uuid, "adopt") == "active"
    assert house.look(uuid).driver_internal_info["is_whole_disk_image"] is whole
    assert house.steps_of(uuid) == ["power.read_power_state"]


def test_a_node_that_cannot_be_adopted_says_why_and_has_no_power_state(house: VerbsHouse) -> None:
    uuid = house.node(provision_state="manageable", power_state="power on")
    house.script[f"{uuid} power.read_power_state"] = Failed("", "the BMC is silent")
    assert house.go(uuid, "adopt") == "adopt failed"
    node = house.look(uuid)
    assert (node.power_state, node.target_provision_state) == (None, "active")
    assert "silent" in (node.last_error or "")


def test_a_service_without_the_agent_does_not_touch_the_instance(house: VerbsHouse, machine: str) -> None:
    for more in ({}, {"disable_ramdisk": True}):
        house.played.clear()
        assert house.go(machine, "service", service_steps=[step("power.reboot")], **more) == "active"
        assert house.steps_of(machine) == ["power.reboot"]


def test_steps_that_need_the_ramdisk_are_refused_where_it_is_disabled(house: VerbsHouse, machine: str) -> None:
    for wanted in ("deploy.wait", "deploy.burnin_cpu"):
        with pytest.raises(InvalidStep):
            house.send(machine, "service", service_steps=[step(wanted)], disable_ramdisk=True)
    assert house.look(machine).provision_state == "active"


def test_a_failed_service_starts_the_instance_again_and_says_why(house: VerbsHouse, machine: str) -> None:
    house.script[f"{machine} deploy.burnin_cpu"] = Failed("", "the processor is too hot", "Cool it.")
    house.send(machine, "service", service_steps=[step("deploy.burnin_cpu")])
    house.settle()
    beat(house, machine)
    node = house.look(machine)
    assert house.steps_of(machine)[-3:] == ["deploy.collect_logs", *AFTER]
    assert (node.provision_state, node.fault, node.power_state) == ("service failed", "service failure", "power on")
    assert "too hot" in (node.last_error or "")


def test_a_rescue_is_booted_finished_and_ended(house: VerbsHouse, machine: str) -> None:
    house.send(machine, "rescue", rescue_password="canary of the rescue")
    house.settle()
    node = house.look(machine)
    assert (node.provision_state, node.target_provision_state) == ("rescue wait", "rescue")
    hashed = house.world.sealer.unseal(node.instance_info)["hashed_rescue_password"]
    assert hashed.startswith("$5$")
    beat(house, machine)
    assert house.look(machine).provision_state == "rescue"
    assert house.look(machine).instance_info == {}
    assert house.go(machine, "unrescue") == "active"
    boot = ["boot.boot_ramdisk", "boot.boot_ramdisk", "rescue.finalize_rescue"]
    assert house.steps_of(machine) == [*boot, "boot.clean_up_ramdisk", "rescue.boot_instance"]


def test_a_rescue_that_cannot_be_cleaned_up_after_its_abort_is_a_fault(house: VerbsHouse, machine: str) -> None:
    house.send(machine, "rescue", rescue_password="pw")
    house.settle()
    house.script[f"{machine} boot.clean_up_ramdisk"] = Failed("", "the BMC is silent")
    assert house.go(machine, "abort") == "rescue failed"
    node = house.look(machine)
    assert (node.maintenance, node.fault) == (True, "rescue abort failure")
    assert "silent" in (node.maintenance_reason or "")


@pytest.mark.parametrize(
    ("verb", "arguments", "state", "end"),
    [
        ("service", {"service_steps": [step("deploy.burnin_cpu")]}, "service wait", "service failed"),
        ("rescue", {"rescue_password": "pw"}, "rescue wait", "rescue failed"),
    ],
)
def test_an_agent_that_never_comes_ends_the_wait(
    house: VerbsHouse, machine: str, verb: str, arguments: dict[str, Any], state: str, end: str
) -> None:
    assert house.go(machine, verb, **arguments) == state
    for _ in range(1 + house.settings.boot_retries):
        assert house.look(machine).provision_state == state
        house.clock.turn(1900)
        house.settle()
    node = house.look(machine)
    assert (node.provision_state, node.maintenance) == (end, False)
    assert f"{verb}_callback_timeout" in (node.last_error or "")


def test_servicing_that_is_to_wait_waits_until_a_heartbeat_or_an_abort(house: VerbsHouse) -> None:
    uuid = house.node(provision_state="active")
    house.until_agent(uuid, "vendor.trigger_servicewait")
    wanted = {"service_steps": [step("vendor.trigger_servicewait"), step("vendor.log_passthrough")]}
    assert house.go(uuid, "service", **wanted) == "service wait"
    assert house.look(uuid).service_step["step"] == "trigger_servicewait"
    assert house.go(uuid, "abort") == "active"
    assert "aborted by alice at step vendor.trigger_servicewait" in (house.look(uuid).last_error or "")
    assert house.go(uuid, "service", **wanted) == "service wait"
    beat(house, uuid)
    assert house.look(uuid).provision_state == "active"
    assert house.steps_of(uuid)[-1] == "vendor.log_passthrough"


@pytest.mark.parametrize("name", ["wait", "hold"])
def test_a_pause_is_the_current_step_until_it_is_over_and_can_be_aborted_before_any_other(
    house: VerbsHouse, name: str
) -> None:
    uuid = house.node(provision_state="active")
    stubborn = {"interface": "deploy", "step": name, "args": {}}
    house.go(uuid, "service", service_steps=[stubborn, step("vendor.log_passthrough")])
    assert house.look(uuid).service_step["step"] == name
    assert house.operation(uuid).position == 0
    assert house.go(uuid, "abort") == "active"
    assert house.steps_of(uuid) == []


def test_pauses_follow_one_another(house: VerbsHouse) -> None:
    uuid = house.node(provision_state="manageable")
    two = [step("deploy.wait", args={"seconds": 5}), step("deploy.wait", args={"seconds": 5})]
    assert house.go(uuid, "clean", clean_steps=[*two, step("deploy.hold"), step("deploy.hold")]) == "clean wait"
    house.clock.turn(6)
    house.settle()
    assert house.look(uuid).provision_state == "clean wait"
    house.clock.turn(6)
    house.settle()
    assert house.look(uuid).provision_state == "clean hold"
    assert house.go(uuid, "unhold") == "clean hold"
    assert house.go(uuid, "unhold") == "manageable"


def test_a_pause_goes_on_after_a_death_of_the_conductor(house: VerbsHouse) -> None:
    uuid = house.node(provision_state="manageable")
    assert house.go(uuid, "clean", clean_steps=[step("deploy.hold"), step("vendor.log_passthrough")]) == "clean hold"
    house.reopen()
    house.settle()
    assert house.look(uuid).provision_state == "clean hold"
    house.send(uuid, "unhold")
    house.reopen()
    house.settle()
    assert house.look(uuid).provision_state == "manageable"
    assert house.steps_of(uuid) == ["vendor.log_passthrough"]


CHILD_STEP = step("power.power_on", execute_on_child_nodes=True)


@pytest.fixture
def family(house: VerbsHouse) -> tuple[str, list[str]]:
    """Return a node and its two children."""
    parent = house.node(provision_state="manageable")
    return parent, [house.node(provision_state=state, parent_node=parent) for state in ("available", "enroll")]


def test_children_take_a_step_and_their_states_stay(house: VerbsHouse, family: tuple[str, list[str]]) -> None:
    parent, children = family
    house.script["power.power_on"] = ON
    wanted = [CHILD_STEP, step("vendor.log_passthrough")]
    assert house.go(parent, "clean", clean_steps=wanted) == "manageable"
    assert house.steps_of(parent) == ["vendor.log_passthrough"]
    assert house.played[-1][0] == parent, "the parent has waited for its children"
    for child, state in zip(children, ("available", "enroll"), strict=True):
        node = house.look(child)
        assert house.steps_of(child) == ["power.power_on"]
        assert (node.provision_state, node.power_state, node.reservation) == (state, "power on", None)


def test_only_the_named_children_take_a_step_with_its_arguments(
    house: VerbsHouse, family: tuple[str, list[str]]
) -> None:
    parent, (first, second) = family
    settings = [{"name": "a", "value": "b"}]
    wanted = step(
        "bios.apply_configuration",
        args={"settings": settings},
        execute_on_child_nodes=True,
        limit_child_node_execution=[second],
    )
    assert house.go(parent, "clean", clean_steps=[wanted]) == "manageable"
    assert (house.steps_of(first), house.steps_of(second)) == ([], ["bios.apply_configuration"])
    assert house.operation(second).steps[0]["args"] == {"settings": settings}


def test_a_child_that_fails_fails_the_step_of_its_parent_by_name(
    house: VerbsHouse, family: tuple[str, list[str]]
) -> None:
    parent, (first, second) = family
    house.script[f"{second} power.power_on"] = Failed("", "its BMC is silent")
    assert house.go(parent, "clean", clean_steps=[CHILD_STEP]) == "clean failed"
    error = house.look(parent).last_error or ""
    assert second in error and "its BMC is silent" in error and first not in error
    assert house.look(second).provision_state == "enroll"
    assert "silent" in (house.look(second).last_error or "")


def test_a_child_that_is_busy_is_waited_for(house: VerbsHouse, family: tuple[str, list[str]]) -> None:
    parent, (first, second) = family
    house.change(second, reservation="somebody else")
    assert house.go(parent, "clean", clean_steps=[CHILD_STEP]) == "clean wait"
    assert (len(house.steps_of(first)), len(house.steps_of(second))) == (1, 0)
    house.change(second, reservation=None)
    house.clock.turn(6)
    house.settle()
    assert house.look(parent).provision_state == "manageable"
    assert (len(house.steps_of(first)), len(house.steps_of(second))) == (1, 1)


def test_a_child_that_stays_busy_ends_the_wait_of_its_parent(house: VerbsHouse, family: tuple[str, list[str]]) -> None:
    parent, (first, _) = family
    house.change(first, reservation="somebody else")
    house.go(parent, "clean", clean_steps=[CHILD_STEP])
    for _ in range(4):
        house.clock.turn(500)
        house.settle()
    assert house.look(parent).provision_state == "clean failed"
    assert "for the child nodes" in (house.look(parent).last_error or "")


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [
        (step("power.power_on", execute_on_child_nodes=True, limit_child_node_execution=["1" * 8]), "no child of"),
        (step("power.power_on", limit_child_node_execution=["1" * 8]), "needs execute_on_child_nodes"),
        (step("deploy.hold", execute_on_child_nodes=True), "no pauses"),
        (step("bios.unknown", execute_on_child_nodes=True), "bios.unknown"),
        (step("bios.apply_configuration", args={"x": 1}, execute_on_child_nodes=True), "unknown argument x"),
    ],
)
def test_what_children_cannot_do_is_refused_at_once(
    house: VerbsHouse, family: tuple[str, list[str]], wanted: dict[str, Any], hint: str
) -> None:
    parent, _ = family
    with pytest.raises(InvalidStep, match=hint):
        house.send(parent, "clean", clean_steps=[wanted])
    assert house.look(parent).provision_state == "manageable"


def test_a_waiting_step_of_a_child_comes_to_its_end(house: VerbsHouse, family: tuple[str, list[str]]) -> None:
    parent, (first, _) = family
    looks = iter([Waiting(WaitFor.POLL, 3), None])
    house.script[f"{first} power.power_on"] = lambda _: next(looks)
    assert house.go(parent, "clean", clean_steps=[CHILD_STEP]) == "clean wait"
    house.clock.turn(4)
    house.settle()
    assert house.look(parent).provision_state == "manageable"

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""How the list of a phase is composed: order, automated and manual lists, deployments, legs, failure lists."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rackwright.domain.errors import InvalidStep, StepConflict, UnknownStep
from rackwright.domain.steps import (
    RESERVED,
    ArgInfo,
    Stage,
    Step,
    StepRequest,
    automated,
    failure_list,
    forbid,
    leg,
    leg_key,
    manual,
    merge_deploy,
    order,
)
from rackwright.domain.verbs import PHASES, Interface, Phase


def step(key: str, priority: int = 0, *, phase: Phase = Phase.CLEAN, stage: Stage = Stage.WORK, **more: Any) -> Step:
    interface, name = key.split(".")
    fields = {"role": "rackwright.metal.some", **more}
    return Step(name=name, interface=Interface(interface), phase=phase, priority=priority, stage=stage, **fields)


def ask(key: str, **more: Any) -> StepRequest:
    interface, name = key.split(".")
    return StepRequest(interface=Interface(interface), step=name, **more)


def keys(steps: tuple[Step, ...]) -> list[str]:
    return [each.key for each in steps]


BOOT = step("boot.boot_ramdisk", 50, stage=Stage.PREPARE)
TIDY = step("boot.clean_up_ramdisk", 10, stage=Stage.FINISH, on_failure=True)
LOGS = step("deploy.collect_logs", 90, stage=Stage.FAILURE)
NOTE = step("management.note", 5, stage=Stage.PREPARE, needs_ramdisk=False)
ERASE = step("deploy.erase_devices", 10)
METADATA = step("deploy.erase_devices_metadata", 99)
BIOS = step("bios.apply", needs_ramdisk=False, argsinfo={"settings": ArgInfo(required=True), "mode": ArgInfo()})
RAID = step("raid.create")
OFFER = [RAID, TIDY, ERASE, LOGS, BIOS, NOTE, METADATA, BOOT]

any_step = st.builds(
    Step,
    name=st.sampled_from(["a", "b", "c", "d"]),
    interface=st.sampled_from(Interface),
    phase=st.just(Phase.SERVICE),
    priority=st.integers(min_value=0, max_value=3),
    stage=st.sampled_from(Stage),
    on_failure=st.booleans(),
    batched=st.booleans(),
    discovers=st.booleans(),
)
any_offer = st.lists(any_step, unique_by=lambda each: each.key)


@given(any_offer, st.randoms())
def test_the_order_is_by_stage_priority_interface_and_name_however_the_steps_come(
    steps: list[Step], random: Any
) -> None:
    found = order(steps)
    shuffled = list(steps)
    random.shuffle(shuffled)
    assert order(shuffled) == found
    stages, interfaces = list(Stage), PHASES[Phase.SERVICE].interfaces
    ranks = [(stages.index(s.stage), -s.priority, interfaces.index(s.interface), s.name) for s in found]
    assert ranks == sorted(ranks)
    assert sorted(keys(found)) == sorted(each.key for each in steps)


def test_equal_priorities_follow_the_interface_order_of_the_phase() -> None:
    shuffled = [step(f"{kind}.x", 7) for kind in ("raid", "network", "deploy", "vendor", "bios", "power")]
    assert keys(order(shuffled)) == ["vendor.x", "power.x", "deploy.x", "bios.x", "raid.x", "network.x"]
    serviced = [step(f"{kind}.x", 7, phase=Phase.SERVICE) for kind in ("vendor", "network")]
    assert keys(order(serviced)) == ["network.x", "vendor.x"]


def test_an_automated_list_has_all_surrounding_steps_and_the_work_steps_with_a_priority() -> None:
    assert keys(automated(OFFER)) == [
        "boot.boot_ramdisk",
        "management.note",
        "deploy.erase_devices_metadata",
        "deploy.erase_devices",
        "boot.clean_up_ramdisk",
    ]


def test_overrides_move_enable_and_disable_work_steps_and_leave_the_surrounding_ones_alone() -> None:
    overrides = {
        "deploy.erase_devices_metadata": 0,
        "raid.create": 5,
        "deploy.erase_devices": 1,
        "boot.boot_ramdisk": 0,
        "deploy.unheard_of": 3,
    }
    found = automated(OFFER, overrides)
    work = [(each.key, each.priority) for each in found if each.stage is Stage.WORK]
    assert work == [("raid.create", 5), ("deploy.erase_devices", 1)]
    assert BOOT in found


@given(any_offer, st.dictionaries(st.sampled_from(["bios.a", "raid.b", "power.c"]), st.integers(0, 5)))
def test_an_automated_list_holds_exactly_what_it_should(offer: list[Step], overrides: dict[str, int]) -> None:
    found = keys(automated(offer, overrides))
    for each in offer:
        surrounding = each.stage in (Stage.PREPARE, Stage.FINISH)
        wanted = each.stage is Stage.WORK and overrides.get(each.key, each.priority) > 0
        assert (each.key in found) == (surrounding or wanted)
    assert len(found) == len(set(found))


def test_two_steps_of_the_same_name_are_a_conflict() -> None:
    for compose in (automated, lambda offer: manual(offer, [ask("raid.create")], phase=Phase.CLEAN)):
        with pytest.raises(StepConflict, match=r"deploy.erase_devices is offered twice, by .*some and by acme.own.own"):
            compose([ERASE, step("deploy.erase_devices", 5, role="acme.own.own")])


def test_a_manual_list_keeps_the_order_of_the_user_and_may_repeat_a_step() -> None:
    wanted = [ask("raid.create"), ask("deploy.erase_devices_metadata"), ask("raid.create")]
    found = manual(OFFER, wanted, phase=Phase.CLEAN)
    work = ["raid.create", "deploy.erase_devices_metadata", "raid.create"]
    assert keys(found) == ["boot.boot_ramdisk", "management.note", *work, "boot.clean_up_ramdisk"]


def test_the_arguments_of_the_user_reach_the_step() -> None:
    (found,) = [
        each for each in manual(OFFER, [ask("bios.apply", args={"settings": [1]})], phase=Phase.CLEAN) if each.args
    ]
    assert found == BIOS.model_copy(update={"args": {"settings": [1]}})


def test_unknown_and_missing_arguments_are_refused_by_name() -> None:
    with pytest.raises(
        InvalidStep, match=r"bios.apply cannot be used: unknown argument colour \(known: mode, settings\)"
    ):
        manual(OFFER, [ask("bios.apply", args={"settings": 1, "colour": 2})], phase=Phase.CLEAN)
    with pytest.raises(InvalidStep, match="argument settings is missing"):
        manual(OFFER, [ask("bios.apply", args={"mode": 1})], phase=Phase.CLEAN)


def test_an_unknown_step_is_refused_and_the_offered_ones_are_named() -> None:
    with pytest.raises(UnknownStep, match=r"Step bios.melt is offered neither .* offered: bios.apply, deploy.erase"):
        manual(OFFER, [ask("bios.melt")], phase=Phase.CLEAN)
    with pytest.raises(UnknownStep, match="offered: none"):
        manual([], [ask("bios.melt")], phase=Phase.CLEAN)


def test_steps_that_surround_the_work_cannot_be_asked_for() -> None:
    for skip_missing in (False, True):
        with pytest.raises(InvalidStep, match=r"boot.boot_ramdisk .* runs anyway"):
            manual(OFFER, [ask("boot.boot_ramdisk")], phase=Phase.CLEAN, skip_missing=skip_missing)


def test_before_the_agent_reports_unknown_steps_are_left_out_and_the_ramdisk_is_booted_for_them() -> None:
    wanted = [ask("bios.apply", args={"settings": 1}), ask("deploy.agent_only")]
    found = manual(OFFER, wanted, phase=Phase.CLEAN, skip_missing=True)
    assert keys(found) == ["boot.boot_ramdisk", "management.note", "bios.apply", "boot.clean_up_ramdisk"]


def test_no_ramdisk_is_booted_when_no_step_needs_it() -> None:
    wanted = [ask("bios.apply", args={"settings": 1}), ask("power.reboot"), ask("power.wait", args={"seconds": 3})]
    for disable_ramdisk in (False, True):
        found = manual(OFFER, wanted, phase=Phase.CLEAN, disable_ramdisk=disable_ramdisk)
        assert keys(found) == ["management.note", "bios.apply", "power.reboot", "power.wait"]


def test_a_step_that_needs_the_ramdisk_is_refused_when_the_ramdisk_is_disabled() -> None:
    with pytest.raises(InvalidStep, match=r"raid.create .* needs the ramdisk, which disable_ramdisk forbids"):
        manual(OFFER, [ask("raid.create")], phase=Phase.CLEAN, disable_ramdisk=True)
    with pytest.raises(InvalidStep, match=r"power.wait .* needs the ramdisk"):
        manual(OFFER, [ask("power.wait")], phase=Phase.CLEAN, disable_ramdisk=True)
    with pytest.raises(UnknownStep):
        manual(OFFER, [ask("deploy.agent_only")], phase=Phase.CLEAN, disable_ramdisk=True, skip_missing=True)


@pytest.mark.parametrize("name", sorted(RESERVED))
@pytest.mark.parametrize("interface", ["power", "deploy"])
def test_reserved_names_are_steps_of_the_engine_in_any_interface(name: str, interface: str) -> None:
    (found,) = manual([], [ask(f"{interface}.{name}")], phase=Phase.SERVICE)
    assert (found.key, found.role, found.phase, found.batched) == (f"{interface}.{name}", "", Phase.SERVICE, False)
    with pytest.raises(InvalidStep, match="unknown argument speed"):
        manual([], [ask(f"{interface}.{name}", args={"speed": 1})], phase=Phase.SERVICE)


@pytest.mark.parametrize("seconds", ["5", -1, True, float("inf"), [1], None])
def test_a_wait_needs_a_number_of_seconds_or_none_at_all(seconds: Any) -> None:
    with pytest.raises(InvalidStep, match="seconds"):
        manual([], [ask("deploy.wait", args={"seconds": seconds})], phase=Phase.CLEAN)


def test_a_step_for_child_nodes_is_left_to_the_engine_and_to_the_child() -> None:
    wanted = ask("bios.of_the_child", execute_on_child_nodes=True, limit_child_node_execution=("c1",), args={"x": 1})
    (found,) = manual([], [wanted], phase=Phase.CLEAN)
    assert (found.role, found.execute_on_child_nodes, found.limit_child_node_execution) == ("", True, ("c1",))
    assert found.args == {"x": 1}


def test_disallowed_steps_are_refused() -> None:
    forbid([ask("raid.create")], ["vendor.send_raw"])
    with pytest.raises(InvalidStep, match=r"vendor.send_raw .* disallowed"):
        forbid([ask("raid.create"), ask("vendor.send_raw")], ["vendor.send_raw"])


IMAGE = step("deploy.deploy", 100, phase=Phase.DEPLOY, stage=Stage.PREPARE, needs_ramdisk=False)
WRITE = step("deploy.write_image", 80, phase=Phase.DEPLOY)
START = step("deploy.boot_instance", 20, phase=Phase.DEPLOY)
SETTINGS = step("bios.apply", phase=Phase.DEPLOY, argsinfo={"settings": ArgInfo(required=True)})
VOLUMES = step("raid.apply", phase=Phase.DEPLOY)
DEPLOY = [VOLUMES, START, SETTINGS, WRITE, IMAGE]


def test_without_requests_a_deployment_runs_the_driver_steps_with_a_priority() -> None:
    assert keys(merge_deploy(DEPLOY, [], [])) == ["deploy.deploy", "deploy.write_image", "deploy.boot_instance"]


def test_templates_override_the_driver_and_the_user_overrides_both() -> None:
    template = [ask("bios.apply", priority=150, args={"settings": 1}), ask("raid.apply", priority=90)]
    user = [ask("bios.apply", priority=50, args={"settings": 2}), ask("deploy.boot_instance", priority=10)]
    found = merge_deploy(DEPLOY, [template], user)
    assert [(each.key, each.priority, each.args) for each in found] == [
        ("deploy.deploy", 100, {}),
        ("raid.apply", 90, {}),
        ("deploy.write_image", 80, {}),
        ("bios.apply", 50, {"settings": 2}),
        ("deploy.boot_instance", 10, {}),
    ]


@pytest.mark.parametrize("by_user", [True, False])
def test_priority_zero_removes_a_step(by_user: bool) -> None:
    removal = [ask("deploy.write_image", priority=0)]
    found = merge_deploy(DEPLOY, [] if by_user else [removal], removal if by_user else [])
    assert keys(found) == ["deploy.deploy", "deploy.boot_instance"]


def test_a_step_in_two_templates_or_twice_in_a_request_is_refused() -> None:
    twice = ask("raid.apply", priority=5)
    with pytest.raises(InvalidStep, match=r"raid.apply .* asked for twice"):
        merge_deploy(DEPLOY, [[twice], [twice]], [])
    with pytest.raises(InvalidStep, match="asked for twice"):
        merge_deploy(DEPLOY, [], [twice, twice])


def test_the_core_step_cannot_be_moved_nor_removed() -> None:
    with pytest.raises(InvalidStep, match="core of every deployment"):
        merge_deploy(DEPLOY, [], [ask("deploy.deploy", priority=5)], skip_missing=True)
    with pytest.raises(InvalidStep, match="runs anyway"):
        merge_deploy(DEPLOY, [], [ask("deploy.deploy", priority=0)], skip_missing=True)
    core = step("deploy.deploy", 100, phase=Phase.DEPLOY)
    assert keys(merge_deploy([core, WRITE], [], [ask("deploy.deploy", priority=0)])) == ["deploy.write_image"]
    with pytest.raises(InvalidStep, match="core of every deployment"):
        merge_deploy([core, WRITE], [], [ask("deploy.deploy", priority=100)])


def test_unknown_deploy_steps_are_tolerated_only_until_the_agent_has_reported() -> None:
    wanted = [ask("deploy.inject_files", priority=70)]
    assert keys(merge_deploy(DEPLOY, [], wanted, skip_missing=True)) == keys(merge_deploy(DEPLOY, [], []))
    with pytest.raises(UnknownStep, match=r"deploy.inject_files"):
        merge_deploy(DEPLOY, [wanted], [])


def test_a_deploy_step_needs_a_priority_and_right_arguments() -> None:
    with pytest.raises(InvalidStep, match="needs a priority"):
        merge_deploy(DEPLOY, [], [ask("raid.apply")])
    with pytest.raises(InvalidStep, match="argument settings is missing"):
        merge_deploy(DEPLOY, [[ask("bios.apply", priority=3)]], [])


def test_hold_and_its_kind_can_be_part_of_a_deployment() -> None:
    found = merge_deploy(DEPLOY, [], [ask("power.hold", priority=50)])
    assert keys(found) == ["deploy.deploy", "deploy.write_image", "power.hold", "deploy.boot_instance"]


def test_a_leg_is_all_following_batched_steps_or_one_that_is_not() -> None:
    a, b, c = (step(f"bios.{name}", batched=True) for name in "abc")
    own = step("vendor.own")
    steps = (a, b, own, own, c)
    assert [keys(leg(steps, position)) for position in range(6)] == [
        ["bios.a", "bios.b"],
        ["bios.b"],
        ["vendor.own"],
        ["vendor.own"],
        ["bios.c"],
        [],
    ]


def test_a_leg_ends_after_a_step_that_makes_the_list_grow() -> None:
    a, c = (step(f"bios.{name}", batched=True) for name in "ac")
    growing = step("deploy.agent_steps", batched=True, discovers=True)
    assert keys(leg((a, growing, c), 0)) == ["bios.a", "deploy.agent_steps"]


def test_a_leg_ends_with_a_step_that_makes_nodes_wait_unless_it_begins_with_it() -> None:
    erase, wipe = (step(f"deploy.{name}", batched=True, waits=True) for name in ("erase", "wipe"))
    off, on = (step(f"power.{name}", batched=True) for name in ("off", "on"))
    steps = (off, erase, wipe, off, on)
    assert [keys(leg(steps, position)) for position in range(3)] == [
        ["power.off", "deploy.erase"],
        ["deploy.erase", "deploy.wipe"],
        ["deploy.wipe", "power.off", "power.on"],
    ]


@given(st.lists(any_step))
def test_legs_cover_the_list_without_gap_or_overlap(steps: list[Step]) -> None:
    covered: list[Step] = []
    while len(covered) < len(steps):
        taken = leg(steps, len(covered))
        assert taken
        assert len(taken) == 1 or all(each.batched for each in taken)
        assert not any(each.discovers for each in taken[:-1])
        covered += taken
    assert covered == steps


def test_legs_of_the_same_tasks_have_the_same_key_whatever_their_arguments() -> None:
    one, two = step("bios.apply", args={"x": 1}), step("bios.apply", args={"x": 2})
    assert (
        leg_key([one, RAID])
        == leg_key([two, RAID])
        == "rackwright.metal.some:bios.apply,rackwright.metal.some:raid.create"
    )
    assert len({leg_key([one]), leg_key([RAID]), leg_key([one, RAID]), leg_key([RAID, one])}) == 4
    assert leg_key([one]) != leg_key([step("bios.apply", role="acme.own.bios")])


def test_the_failure_list_is_by_priority_whatever_the_stage() -> None:
    assert keys(failure_list(OFFER)) == ["deploy.collect_logs", "boot.clean_up_ramdisk"]


@given(any_offer)
def test_the_failure_list_holds_exactly_the_failure_steps(offer: list[Step]) -> None:
    found = failure_list(offer)
    assert [each.priority for each in found] == sorted((each.priority for each in found), reverse=True)
    assert set(keys(found)) == {each.key for each in offer if each.on_failure or each.stage is Stage.FAILURE}


@given(any_step)
def test_a_step_survives_the_database(each: Step) -> None:
    assert Step.model_validate_json(each.model_dump_json()) == each
    assert Step.model_validate(each.model_dump(mode="json")) == each


def test_the_task_file_is_the_name_unless_given() -> None:
    assert step("bios.apply").tasks == "apply"
    assert step("bios.apply", tasks="execute").tasks == "execute"


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "../etc/passwd"},
        {"name": "a b"},
        {"name": "{{x}}"},
        {"tasks": "../x"},
        {"role": "a/b"},
        {"priority": -1},
        {"interface": "fridge"},
        {"colour": "red"},
    ],
)
def test_a_step_with_a_dangerous_or_unknown_field_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Step.model_validate({"name": "a", "interface": "bios", "phase": "clean", **wrong})

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The steps that an agent reports, and how they join those of the driver."""

from typing import Any

import pytest

from rackwright.domain.errors import InvalidStep, StepConflict
from rackwright.domain.steps import AGENT_ROLE, ArgInfo, Step, automated, join_agent_steps
from rackwright.domain.verbs import Interface, Phase

ERASE = {
    "step": "erase_devices",
    "interface": "deploy",
    "priority": 10,
    "reboot_requested": False,
    "abortable": True,
    "argsinfo": None,
}
CREATE = {
    "step": "create_configuration",
    "interface": "raid",
    "priority": 0,
    "reboot_requested": True,
    "abortable": None,
    "requires_ramdisk": False,
    "argsinfo": {"raid_config": {"description": "The volumes.", "required": True, "odd": 1}},
}


def driver(key: str, **more: Any) -> Step:
    interface, name = key.split(".")
    return Step(name=name, interface=Interface(interface), phase=Phase.CLEAN, role="acme.own.disks", **more)


def test_a_step_of_the_agent_is_run_by_the_role_of_the_agent() -> None:
    erase, create = join_agent_steps([], {"GenericHardwareManager": [ERASE, CREATE]}, phase=Phase.CLEAN)
    assert (erase.key, erase.priority, erase.role, erase.tasks) == ("deploy.erase_devices", 10, AGENT_ROLE, "execute")
    assert (erase.abortable, erase.reboot_requested, erase.waits, erase.batched) == (True, False, True, True)
    assert (create.abortable, create.reboot_requested) == (False, True)
    assert create.argsinfo == {"raid_config": ArgInfo(description="The volumes.", required=True)}


def test_clean_steps_of_the_agent_need_the_ramdisk_whatever_they_say() -> None:
    (cleaning,) = join_agent_steps([], {"raid": [CREATE]}, phase=Phase.CLEAN)
    (serving,) = join_agent_steps([], {"raid": [CREATE]}, phase=Phase.SERVICE)
    assert (cleaning.needs_ramdisk, serving.needs_ramdisk) == (True, False)


def test_the_priority_of_an_erase_step_can_be_overridden() -> None:
    joined = join_agent_steps([], {"deploy": [ERASE]}, phase=Phase.CLEAN)
    assert [each.priority for each in automated(joined, {"deploy.erase_devices": 70})] == [70]
    assert automated(joined, {"deploy.erase_devices": 0}) == ()


def test_neither_a_role_nor_the_agent_can_replace_an_erase_step_unseen() -> None:
    with pytest.raises(
        StepConflict, match=r"deploy.erase_devices is offered twice, by acme.own.disks and by the agent's G"
    ):
        join_agent_steps([driver("deploy.erase_devices")], {"Generic": [ERASE]}, phase=Phase.CLEAN)
    with pytest.raises(StepConflict, match="by the agent's Acme and by the agent's Generic"):
        join_agent_steps([], {"Generic": [ERASE], "Acme": [{**ERASE, "priority": 99}]}, phase=Phase.CLEAN)


def test_of_two_other_steps_the_one_of_the_driver_wins_then_the_higher_priority_then_the_group_name() -> None:
    own = driver("raid.create_configuration")
    assert join_agent_steps([own], {"raid": [CREATE]}, phase=Phase.CLEAN) == (own,)
    reported = {"B": [CREATE], "C": [{**CREATE, "priority": 5}], "A": [{**CREATE, "abortable": True}]}
    (high,) = join_agent_steps([], reported, phase=Phase.CLEAN)
    assert high.priority == 5
    del reported["C"]
    (first,) = join_agent_steps([], reported, phase=Phase.CLEAN)
    assert first.abortable


@pytest.mark.parametrize(
    ("reported", "where"),
    [
        ({"deploy": [{"step": "x", "interface": "deploy"}]}, "deploy.0.priority"),
        ({"deploy": [{"interface": "deploy", "priority": 1}]}, "deploy.0.step"),
        ({"deploy": [{"step": "x", "priority": 1}]}, "deploy.0.interface"),
        ({"deploy": [{**ERASE, "interface": "fridge"}]}, "deploy.0.interface"),
        ({"deploy": [{**ERASE, "step": "../../tasks"}]}, "deploy.0.step"),
        ({"deploy": [{**ERASE, "step": "{{ lookup('pipe', 'id') }}"}]}, "deploy.0.step"),
        ({"deploy": [{**ERASE, "priority": -1}]}, "deploy.0.priority"),
        ({"deploy": ["erase"]}, "deploy.0"),
        ({"deploy": {"erase": 1}}, "deploy"),
        (["erase"], ""),
        (None, ""),
    ],
)
def test_what_is_no_step_is_refused_and_the_place_is_named(reported: object, where: str) -> None:
    with pytest.raises(InvalidStep, match=rf"Step {where} cannot be used: the agent describes it wrongly"):
        join_agent_steps([], reported, phase=Phase.CLEAN)

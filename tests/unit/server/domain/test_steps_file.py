# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The form of ``meta/steps.yml``."""

from typing import Any

import pytest
from pydantic import ValidationError

from rackwright.domain.steps import ArgInfo, Stage
from rackwright.domain.steps_file import StepsFile
from rackwright.domain.verbs import Interface, Phase

FILE: dict[str, Any] = {
    "implements": [{"interface": "raid", "name": "redfish", "protocol": "redfish"}],
    "properties": {"redfish_address": {"description": "URL of the BMC.", "required": True}},
    "steps": [
        {
            "name": "apply_configuration",
            "phase": "clean",
            "interface": "raid",
            "abortable": True,
            "needs_ramdisk": False,
            "args": {"raid_config": "raid_volumes"},
        },
        {"name": "apply_configuration", "phase": "deploy", "interface": "raid", "priority": 3, "batched": True},
    ],
}


def test_a_file_is_read_with_its_defaults() -> None:
    found = StepsFile.model_validate(FILE)
    clean, deploy = found.steps
    assert (clean.stage, clean.priority, clean.batched, clean.on_failure) == (Stage.WORK, 0, False, False)
    assert (deploy.priority, deploy.batched, deploy.needs_ramdisk) == (3, True, True)
    assert found.properties["redfish_address"].required
    assert not found.properties["redfish_address"].secret
    assert found.implements[0].supported
    assert StepsFile.model_validate({}) == StepsFile()


def test_a_declaration_becomes_a_step_of_its_role() -> None:
    declaration = StepsFile.model_validate(FILE).steps[0]
    info = {"raid_config": ArgInfo(description="The volumes.", required=True), "internal": ArgInfo()}
    step = declaration.step("acme.own.raid", info)
    assert (step.key, step.phase, step.interface) == ("raid.apply_configuration", Phase.CLEAN, Interface.RAID)
    assert (step.role, step.tasks, step.abortable) == ("acme.own.raid", "apply_configuration", True)
    assert step.variables == {"raid_config": "raid_volumes"}
    assert step.argsinfo == {"raid_config": info["raid_config"]}
    assert step.args == {}


def test_a_step_may_name_its_task_file_and_an_implementation_its_own_properties() -> None:
    found = StepsFile.model_validate(
        {
            "implements": [{"interface": "vendor", "name": "fake", "properties": {"a1": {"description": "One."}}}],
            "steps": [{"name": "log", "tasks": "act", "phase": "clean", "interface": "vendor"}],
        }
    )
    assert found.implements[0].properties["a1"].description == "One."
    assert found.steps[0].step("rackwright.metal.fake", {}).tasks == "act"


def test_a_step_may_serve_two_phases_but_not_one_phase_twice() -> None:
    with pytest.raises(ValidationError, match=r"raid.apply_configuration of phase clean is listed twice"):
        StepsFile.model_validate({"steps": [FILE["steps"][0], FILE["steps"][0]]})


@pytest.mark.parametrize(
    "wrong",
    [
        {"step": []},
        {"steps": [{"name": "x", "phase": "clean"}]},
        {"steps": [{"name": "x", "phase": "party", "interface": "raid"}]},
        {"steps": [{"name": "x", "phase": "clean", "interface": "raid", "stage": "later"}]},
        {"steps": [{"name": "x", "phase": "clean", "interface": "raid", "prio": 3}]},
        {"steps": [{"name": "../x", "phase": "clean", "interface": "raid"}]},
        {"implements": {"interface": "raid", "name": "redfish"}},
        {"implements": [{"interface": "raid", "name": "Red Fish"}]},
        {"properties": {"redfish_address": {"required": True}}},
    ],
)
def test_a_file_with_a_mistake_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        StepsFile.model_validate(wrong)

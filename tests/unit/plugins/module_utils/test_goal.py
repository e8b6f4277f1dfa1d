# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.plugins.module_utils._goal import (
    WAYS,
    Goal,
    has_failed,
    is_busy,
    next_verb,
    predict,
)

IMAGE = {"image_source": "http://images/os.raw", "image_os_hash_value": "ab"}


def node(state: str, **fields: Any) -> dict[str, Any]:
    return {
        "provision_state": state,
        "target_provision_state": None,
        "last_error": None,
        "inspection_finished_at": "2026-01-01T00:00:00+00:00",
        "inspect_interface": "agent",
        "instance_info": {},
        **fields,
    }


def goal(state: str, **fields: Any) -> Goal:
    return Goal("web-1", state, **fields)


def test_a_new_node_is_managed_inspected_cleaned_and_deployed() -> None:
    new = node("enroll", inspection_finished_at=None)
    assert predict(new, goal("active", instance_info=IMAGE)) == ["manage", "inspect", "provide", "active"]


def test_a_node_that_cannot_be_inspected_is_not() -> None:
    new = node("enroll", inspection_finished_at=None, inspect_interface="no-inspect")
    assert predict(new, goal("available")) == ["manage", "provide"]


def test_inspection_can_be_left_out() -> None:
    assert predict(node("enroll", inspection_finished_at=None), goal("manageable", inspect=False)) == ["manage"]


@pytest.mark.parametrize("state", ["manageable", "available", "active"])
def test_a_node_at_its_goal_needs_nothing(state: str) -> None:
    assert predict(node(state, instance_info=IMAGE), goal(state, instance_info=IMAGE)) == []


def test_values_that_the_api_masks_count_as_the_same_image() -> None:
    masked = node("active", instance_info={"image_source": "http://images/os.raw", "image_url": "******"})
    wanted = {"image_source": "http://images/os.raw", "image_url": "http://elsewhere/os.raw"}
    assert next_verb(masked, goal("active", instance_info=wanted)) is None


@pytest.mark.parametrize("wanted", ["manageable", "available"])
def test_a_deployed_node_is_not_erased_unless_that_is_allowed(wanted: str) -> None:
    with pytest.raises(OperationError, match="allow_undeploy"):
        next_verb(node("active"), goal(wanted))
    assert next_verb(node("active"), goal(wanted, allow_undeploy=True)) == "deleted"


def test_another_image_is_not_deployed_over_a_running_system_unless_that_is_allowed() -> None:
    with pytest.raises(OperationError, match="allow_rebuild"):
        next_verb(node("active"), goal("active", instance_info=IMAGE))
    assert next_verb(node("active"), goal("active", instance_info=IMAGE, allow_rebuild=True)) == "rebuild"


RUNNING = {"power_state": "power on", "inspection_finished_at": None}
"""A machine that was declared anew, and found to be on."""


@pytest.mark.parametrize("wanted", [goal("active"), goal("available"), goal("available", running="adopt")])
def test_a_machine_that_runs_nobody_knows_what_is_left_alone(wanted: Goal) -> None:
    with pytest.raises(OperationError, match=r"is on, and the daemon does not know .* set running to adopt"):
        next_verb(node("manageable", **RUNNING), wanted)


def test_a_running_machine_is_inspected_only_where_what_it_runs_may_be_lost() -> None:
    with pytest.raises(OperationError, match="left alone"):
        next_verb(node("manageable", **RUNNING), goal("manageable"))
    assert next_verb(node("manageable", **RUNNING), goal("manageable", inspect=False)) is None
    assert next_verb(node("manageable", **RUNNING), goal("active", running="erase")) == "inspect"


def test_a_running_machine_is_adopted_where_that_was_declared() -> None:
    wanted = goal("active", running="adopt", instance_info=IMAGE)
    assert predict(node("manageable", **RUNNING), wanted) == ["adopt"]
    with pytest.raises(OperationError, match=r"with http://here/boot\.iso in its virtual drive"):
        next_verb(node("manageable", media=["http://here/boot.iso"], **RUNNING), wanted)


@pytest.mark.parametrize(
    "known", [{"power_state": "power off"}, {"power_state": None}, {"inspection_finished_at": "2026-01-01"}]
)
def test_a_machine_that_is_off_or_known_goes_the_ordinary_way(known: dict[str, Any]) -> None:
    told = node("manageable", **{**RUNNING, "inspect_interface": "no-inspect", **known})
    assert next_verb(told, goal("active", running="adopt")) == "provide"


@pytest.mark.parametrize("state", ["rescue", "service failed", "service hold"])
def test_a_state_without_a_way_is_an_error_that_says_what_to_do(state: str) -> None:
    with pytest.raises(OperationError, match=r"no way .* End that state by hand"):
        next_verb(node(state), goal("active"))


@pytest.mark.parametrize(("wanted", "state"), [(wanted, state) for wanted, ways in WAYS.items() for state in ways])
def test_every_way_ends_at_its_goal(wanted: str, state: str) -> None:
    verbs = predict(node(state), goal(wanted, instance_info=IMAGE, allow_undeploy=True, allow_rebuild=True))
    assert verbs
    assert len(verbs) == len(set(verbs))


def test_a_node_is_busy_while_it_has_a_target() -> None:
    assert is_busy(node("clean wait", target_provision_state="available"))
    assert not is_busy(node("clean failed", target_provision_state="available"))
    assert not is_busy(node("available"))


def test_verification_that_failed_shows_as_enroll_with_an_error() -> None:
    assert has_failed(node("enroll", last_error="no route to the BMC"))
    assert not has_failed(node("enroll"))
    assert has_failed(node("deploy failed"))

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Verbs, their versions, and the phases that they start."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from rackwright.domain.errors import InvalidState, NotAcceptableVersion, UnknownVerb
from rackwright.domain.states import TRANSITIONS, Event, ProvisionState, next_state
from rackwright.domain.verbs import PHASES, VERBS, Interface, Phase, event_for, phase_of, possible, transition_for

FACTS: dict[str, Any] = yaml.safe_load((Path(__file__).parents[2] / "fixtures/state_machine.yaml").read_text())
LATE = FACTS["version_checked_after_state"]


def test_the_verbs_are_those_of_the_facts_with_their_events_versions_and_arguments() -> None:
    found = [
        {"target": verb.target, "event": verb.event.value, "since": verb.since, "arguments": dict(verb.arguments)}
        for verb in VERBS.values()
    ]
    assert found == FACTS["verbs"]
    assert list(VERBS) == [verb["target"] for verb in FACTS["verbs"]]


@pytest.mark.parametrize("target", [verb for verb in VERBS if verb not in LATE])
def test_a_verb_is_known_from_its_version_on_in_any_state(target: str) -> None:
    verb = VERBS[target]
    assert event_for(target, verb.since) is verb.event
    with pytest.raises(NotAcceptableVersion, match=f"provision target {target} needs API version 1.{verb.since}"):
        event_for(target, verb.since - 1)
    with pytest.raises(NotAcceptableVersion):
        transition_for(ProvisionState.VERIFYING, target, verb.since - 1)


@pytest.mark.parametrize("target", LATE)
def test_some_verbs_report_an_illegal_state_before_a_version_that_is_too_old(target: str) -> None:
    verb = VERBS[target]
    with pytest.raises(InvalidState):
        transition_for(ProvisionState.VERIFYING, target, verb.since - 1)
    state = next(each.source for each in TRANSITIONS if each.event is verb.event)
    with pytest.raises(NotAcceptableVersion):
        transition_for(state, target, verb.since - 1)
    assert transition_for(state, target, verb.since).event is verb.event


def test_abort_needs_a_later_version_in_some_states() -> None:
    assert {state.value: since for state, since in VERBS["abort"].since_in.items()} == FACTS["abort_since"]
    for name, since in FACTS["abort_since"].items():
        with pytest.raises(NotAcceptableVersion, match=f"1.{since}"):
            transition_for(ProvisionState(name), "abort", since - 1)
        assert transition_for(ProvisionState(name), "abort", since).event is Event.ABORT
    assert transition_for(ProvisionState.CLEAN_WAIT, "abort", 13).target is ProvisionState.CLEAN_FAILED


def test_an_unknown_target_is_refused_and_so_are_the_events_of_the_engine() -> None:
    for target in ("fly", "done", "fail", "wait", "resume", "hold", "delete"):
        with pytest.raises(UnknownVerb, match=f"{target} is no provision target; known targets: active"):
            transition_for(ProvisionState.CLEANING, target, 115)


@pytest.mark.parametrize(("name", "target"), FACTS["engine_only"])
def test_an_event_that_only_the_engine_may_fire_is_refused_to_clients(name: str, target: str) -> None:
    state = ProvisionState(name)
    next_state(state, VERBS[target].event)  # the machine knows it
    with pytest.raises(InvalidState, match=f"Verb {target} is not possible in provision state {name}"):
        transition_for(state, target, 115)


def test_a_refusal_names_what_is_possible() -> None:
    with pytest.raises(InvalidState, match="possible now: active, deploy, manage"):
        transition_for(ProvisionState.AVAILABLE, "clean", 115)
    with pytest.raises(InvalidState, match="possible now: none"):
        transition_for(ProvisionState.VERIFYING, "clean", 115)


@pytest.mark.parametrize(
    ("state", "target", "phase"),
    [
        ("enroll", "manage", Phase.VERIFY),
        ("available", "manage", None),
        ("manageable", "provide", Phase.CLEAN),
        ("manageable", "clean", Phase.CLEAN),
        ("manageable", "inspect", Phase.INSPECT),
        ("manageable", "adopt", Phase.ADOPT),
        ("available", "active", Phase.DEPLOY),
        ("active", "rebuild", Phase.DEPLOY),
        ("active", "deleted", Phase.UNDEPLOY),
        ("active", "rescue", Phase.RESCUE),
        ("rescue", "unrescue", Phase.UNRESCUE),
        ("active", "service", Phase.SERVICE),
        ("clean hold", "unhold", Phase.CLEAN),
        ("clean wait", "abort", None),
    ],
)
def test_a_verb_starts_the_phase_of_the_state_it_leads_to(state: str, target: str, phase: Phase | None) -> None:
    assert phase_of(transition_for(ProvisionState(state), target, 115).target) is phase


@pytest.mark.parametrize("phase", Phase)
def test_the_states_and_events_of_a_phase_fit_the_machine(phase: Phase) -> None:
    traits = PHASES[phase]
    assert set(traits.interfaces) == set(Interface) and len(traits.interfaces) == len(Interface)
    if traits.running is None:
        assert phase in (Phase.POWER, Phase.MANAGEMENT, Phase.CHILD)
        return
    assert next_state(traits.running, traits.success_event).target is not traits.running
    failed = next_state(traits.running, traits.failure_event).target
    assert failed.traits.failure_state or failed in (ProvisionState.ENROLL, ProvisionState.ERROR)
    if traits.waiting:
        assert next_state(traits.running, Event.WAIT).target is traits.waiting
        assert next_state(traits.waiting, Event.RESUME).target is traits.running
        assert next_state(traits.waiting, traits.failure_event).target is failed
    if traits.hold:
        assert next_state(traits.running, Event.HOLD).target is traits.hold
        assert "unhold" in possible(traits.hold)


def test_each_state_in_which_work_is_under_way_belongs_to_one_phase() -> None:
    working = {state for state in ProvisionState if state.traits.unstable_list}
    assert working <= {state for state in ProvisionState if phase_of(state)}
    assert phase_of(ProvisionState.ACTIVE) is None


def test_each_wait_has_a_timeout_of_its_own() -> None:
    options = [traits.timeout_option for traits in PHASES.values() if traits.waiting]
    assert sorted(str(option) for option in options) == [
        "clean_callback_timeout",
        "deploy_callback_timeout",
        "inspect_wait_timeout",
        "rescue_callback_timeout",
        "service_callback_timeout",
    ]
    assert not any(traits.timeout_option for traits in PHASES.values() if not traits.waiting)


def test_the_fields_and_arguments_of_a_phase_are_named_as_in_the_api() -> None:
    named = {phase.value: (traits.steps_argument, traits.step_field) for phase, traits in PHASES.items()}
    expected: dict[str, tuple[str | None, str | None]] = {phase.value: (None, None) for phase in Phase}
    assert named == expected | {name: (f"{name}_steps", f"{name}_step") for name in ("clean", "deploy", "service")}


def test_the_interface_order_is_that_of_the_contract() -> None:
    changing = ["vendor", "power", "management", "firmware", "deploy", "bios", "raid"]
    verify = ["power", "management", "firmware", "inspect", "deploy", "boot", "bios"]
    verify += ["raid", "vendor", "network", "storage", "console", "rescue"]
    assert list(PHASES[Phase.CLEAN].interfaces[:7]) == changing
    assert list(PHASES[Phase.DEPLOY].interfaces[:7]) == changing
    assert list(PHASES[Phase.SERVICE].interfaces[:8]) == ["network", *changing]
    assert list(PHASES[Phase.VERIFY].interfaces) == verify

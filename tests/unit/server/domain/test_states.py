# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The state machine against the facts in ``state_machine.yaml``: every pair of state and event, every trait."""

import dataclasses
import itertools
from pathlib import Path
from typing import Any

import pytest
import yaml

from rackwright.domain.errors import InvalidTransition
from rackwright.domain.states import (
    TRAITS,
    TRANSITIONS,
    Event,
    PowerState,
    PowerTarget,
    ProvisionState,
    Who,
    next_state,
)
from rackwright.domain.verbs import VERBS, possible, transition_for

FACTS: dict[str, Any] = yaml.safe_load((Path(__file__).parents[2] / "fixtures/state_machine.yaml").read_text())
DELETION = {True: "yes", False: "no", "config": "config"}


def expected_transitions() -> dict[tuple[str, str], tuple[str, str | None, str, bool]]:
    """Return (state, event) to (next state, target after, who, beyond Ironic)."""
    events = {verb["target"]: verb["event"] for verb in FACTS["verbs"]}
    ironic = {(old, event): (new, target, who, False) for old, event, new, target, who in FACTS["transitions"]}
    ours = {(state, events[verb]): (new, None, "api", True) for state, verb, new in FACTS["accepted_beyond_ironic"]}
    return ironic | ours


@pytest.mark.parametrize(("state", "event"), list(itertools.product(ProvisionState, Event)))
def test_each_event_in_each_state_does_what_the_facts_say(state: ProvisionState, event: Event) -> None:
    expected = expected_transitions().get((state.value, event.value))
    if expected is None:
        with pytest.raises(InvalidTransition, match=f"Event {event} is not possible in provision state {state}"):
            next_state(state, event)
        return
    found = next_state(state, event)
    target = found.target_after and found.target_after.value
    assert (found.target.value, target, found.who.value, found.beyond_ironic) == expected
    assert (found.source, found.event) == (state, event)


def test_the_facts_name_no_other_state_and_no_other_event() -> None:
    assert {state["name"] for state in FACTS["states"]} == {state.value for state in ProvisionState}
    assert {state for state, _ in expected_transitions()} <= {state.value for state in ProvisionState}
    assert {event for _, event in expected_transitions()} == {event.value for event in Event}


def test_no_pair_of_state_and_event_is_listed_twice() -> None:
    pairs = [(each.source, each.event) for each in TRANSITIONS]
    assert len(pairs) == len(set(pairs))


@pytest.mark.parametrize("facts", FACTS["states"], ids=lambda facts: facts["name"])
def test_each_state_has_the_traits_of_the_facts(facts: dict[str, Any]) -> None:
    found = dataclasses.asdict(ProvisionState(facts["name"]).traits)
    expected = {**facts, "delete_allowed": DELETION[facts["delete_allowed"]]}
    assert found == {key: value for key, value in expected.items() if key != "name"}


@pytest.mark.parametrize(("state", "target"), list(itertools.product(ProvisionState, VERBS)))
def test_each_verb_in_each_state_is_accepted_or_refused_as_the_facts_say(state: ProvisionState, target: str) -> None:
    expected = dict(FACTS["verb_matrix"][state.value])
    expected |= {verb: new for name, verb, new in FACTS["accepted_beyond_ironic"] if name == state.value}
    for name, verb in FACTS["engine_only"]:
        if name == state.value:
            del expected[verb]
    assert (target in possible(state)) == (target in expected)
    if target in expected:
        assert transition_for(state, target, 115).target == expected[target]


def test_each_state_can_be_left_and_reached() -> None:
    assert {each.source for each in TRANSITIONS} == set(ProvisionState)
    assert {each.target for each in TRANSITIONS} == set(ProvisionState)


def test_a_client_can_lead_a_node_from_each_state_in_which_nobody_works_back_to_manageable() -> None:
    for start in ProvisionState:
        reached, fresh = {start}, {start}
        while fresh:
            fresh = {each.target for each in TRANSITIONS if each.source in fresh} - reached
            reached |= fresh
        assert ProvisionState.MANAGEABLE in reached
        if not start.traits.unstable_list:
            assert possible(start)


def test_each_state_in_which_work_is_under_way_has_an_end_for_failure() -> None:
    for state, traits in TRAITS.items():
        if traits.unstable_list:
            assert traits.on_fail is not None, state


def test_only_the_engine_reports_the_end_of_work() -> None:
    engine = {Event.DONE, Event.FAIL, Event.HOLD, Event.RESUME, Event.WAIT}
    assert {each.event for each in TRANSITIONS if each.who is Who.API}.isdisjoint(engine)


def test_the_power_states_and_targets_are_those_of_the_facts() -> None:
    assert [state.value for state in PowerState] == FACTS["power_states"]
    assert [target.value for target in PowerTarget] == FACTS["power_targets"]

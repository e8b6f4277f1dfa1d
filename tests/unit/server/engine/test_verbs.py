# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Every verb from every state in which it is legal, to its end, on fake hardware (contract: verb_matrix, flows)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from rackwright.domain.errors import NodeLocked
from rackwright.domain.outcomes import WaitFor, Waiting
from rackwright.domain.states import ProvisionState
from rackwright.domain.verbs import possible
from tests.unit.server.engine.verbs_house import IMAGE, VerbsHouse

FACTS: dict[str, Any] = yaml.safe_load((Path(__file__).parents[2] / "fixtures/state_machine.yaml").read_text())
ONLY_WHILE_RESERVED = (("cleaning", "manage"), ("deleting", "clean"))  # events of the engine that have a verb's name
BEYOND_IRONIC = [(state, verb) for state, verb, _ in FACTS["accepted_beyond_ironic"]]
LEGAL = [
    (state, verb)
    for state, verbs in FACTS["verb_matrix"].items()
    for verb in verbs
    if (state, verb) not in ONLY_WHILE_RESERVED
]

SERVICE = {"service_steps": [{"interface": "vendor", "step": "log_passthrough"}]}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "clean": {"clean_steps": [{"interface": "vendor", "step": "log_passthrough"}]},
    "service": SERVICE,
    "rescue": {"rescue_password": "canary of the rescue"},
}
ENDS = {
    **dict.fromkeys(("manage", "inspect", "clean"), "manageable"),
    **dict.fromkeys(("provide", "deleted", "undeploy"), "available"),
    **dict.fromkeys(("active", "deploy", "rebuild", "adopt", "unrescue", "service"), "active"),
    "rescue": "rescue",
}
ENDS_IN_STATE = {
    ("deploy hold", "unhold"): "active",
    ("clean hold", "unhold"): "manageable",
    ("service hold", "unhold"): "active",
    ("wait call-back", "abort"): "deploy failed",
    ("deploy hold", "abort"): "deploy failed",
    ("clean wait", "abort"): "clean failed",
    ("clean hold", "abort"): "clean failed",
    ("inspect wait", "abort"): "inspect failed",
    ("rescue wait", "abort"): "rescue failed",
    ("service wait", "abort"): "active",
    ("service hold", "abort"): "active",
    ("service failed", "abort"): "active",
}


def _pause(name: str, **more: Any) -> dict[str, Any]:
    return {"interface": "deploy", "step": name, "args": {}, **more}


WAYS: dict[str, tuple[str, str, dict[str, Any]]] = {  # state: from which, with which verb it is come to
    "wait call-back": ("available", "active", {"deploy_steps": [_pause("wait", priority=50)]}),
    "deploy hold": ("available", "active", {"deploy_steps": [_pause("hold", priority=50)]}),
    "clean wait": ("manageable", "clean", {"clean_steps": [_pause("wait")]}),
    "clean hold": ("manageable", "clean", {"clean_steps": [_pause("hold")]}),
    "service wait": ("active", "service", {"service_steps": [_pause("wait")]}),
    "service hold": ("active", "service", {"service_steps": [_pause("hold")]}),
    "inspect wait": ("manageable", "inspect", {}),
    "rescue wait": ("active", "rescue", ARGUMENTS["rescue"]),
}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VerbsHouse]:
    built = VerbsHouse(tmp_path_factory.mktemp("verbs"))
    yield built
    built.close()


def bring(house: VerbsHouse, state: str) -> str:
    """Return a new node in a state; what it needs to be in there is under way."""
    start, verb, more = WAYS.get(state, (state, None, {}))
    traits = ProvisionState(start).traits
    target = None if traits.stable or traits.fsm_target is None else traits.fsm_target.value
    uuid = house.node(provision_state=start, target_provision_state=target, instance_info=IMAGE)
    if verb is None:
        return uuid
    house.script[f"{uuid} inspect.inspect_hardware"] = Waiting(WaitFor.INSPECTION)
    house.until_agent(uuid, "rescue.rescue")
    assert house.go(uuid, verb, **more) == state
    return uuid


def test_the_table_has_all_that_a_client_may_send() -> None:
    allowed = {(state.value, verb) for state in ProvisionState for verb in possible(state)}
    assert allowed == {*LEGAL, *BEYOND_IRONIC}


@pytest.mark.parametrize(("state", "verb"), [*LEGAL, *BEYOND_IRONIC])
def test_a_verb_leads_to_its_end_and_the_target_says_so_all_the_way(house: VerbsHouse, state: str, verb: str) -> None:
    uuid = bring(house, state)
    before = len(house.seen(uuid))
    house.send(uuid, verb, **ARGUMENTS.get(verb, {}))
    told = house.seen(uuid)[before:]
    if (state, verb) in LEGAL and not (verb == "abort" and state != "service failed"):
        assert told[0][0] == FACTS["verb_matrix"][state][verb]
    house.settle()
    node, operation_is_over = house.look(uuid), house.seen(uuid)[-1]
    end = ENDS_IN_STATE.get((state, verb)) or ENDS[verb]
    assert (node.provision_state, node.reservation) == (end, None)
    assert operation_is_over == (end, node.target_provision_state)
    for seen, target in house.seen(uuid):
        assert (target is None) == ProvisionState(seen).traits.stable, (seen, target)
    if verb == "abort" and state != "service failed":
        assert "aborted by alice" in (node.last_error or "")
    else:
        assert node.last_error is None
    assert (node.clean_step, node.deploy_step, node.service_step) == ({}, {}, {})


def test_no_verb_is_taken_while_a_run_has_the_node(house: VerbsHouse) -> None:
    uuid = house.node(provision_state="manageable")
    house.send(uuid, "clean", **ARGUMENTS["clean"])
    for verb in ("manage", "provide", "abort", "clean"):
        with pytest.raises(NodeLocked):
            house.send(uuid, verb, **ARGUMENTS.get(verb, {}))
    house.settle()
    assert house.look(uuid).provision_state == "manageable"

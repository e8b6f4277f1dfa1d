# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import time
from typing import Any

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils import _client, _converge
from ansible_collections.rackwright.metal.plugins.module_utils._client import API_OPTIONS, ApiClient, Unreachable
from ansible_collections.rackwright.metal.plugins.module_utils._converge import converge, foresee, plain
from ansible_collections.rackwright.metal.plugins.module_utils._goal import Goal
from ansible_collections.rackwright.metal.tests.unit.plugins.api_server import WAYS, ApiServer, fault

IMAGE = {"image_source": "http://images/os.raw", "image_os_hash_value": "ab"}
ACTIVE = Goal("web-1", "active", IMAGE)


@pytest.fixture
def client(api: ApiServer) -> ApiClient:
    defaults = {name: option.get("default") for name, option in API_OPTIONS.items()}
    return ApiClient({**defaults, "api_url": api.url})


class Lead:
    """Lead nodes to their goals, and keep what was told."""

    def __init__(self, client: ApiClient) -> None:
        self.client = client
        self.told: list[str] = []

    def __call__(self, *goals: Goal, timeout: float = 30) -> dict[str, dict[str, Any]]:
        return converge(self.client, list(goals), timeout=timeout, tell=self.told.append)


@pytest.fixture
def lead(client: ApiClient) -> Lead:
    return Lead(client)


def test_a_new_node_is_led_to_active(api: ApiServer, lead: Lead) -> None:
    node = api.add("web-1")
    result = lead(Goal("web-1", "active", IMAGE, config_drive={"meta_data": {"hostname": "web-1"}}))["web-1"]
    assert result["verbs"] == ["manage", "inspect", "provide", "active"]
    assert (result["changed"], result["failed"], result["provision_state"]) == (True, False, "active")
    assert result["msg"] == "web-1: from enroll to active by manage, inspect, provide, active."
    assert node["provision_state"] == "active"
    assert node["instance_info"] == IMAGE
    assert node["body"]["configdrive"] == {"meta_data": {"hostname": "web-1"}}


def drives(image: str | None) -> tuple[int, list[dict[str, Any]]]:
    """Return what the API says of the virtual drives of a machine."""
    return 200, [{"name": "Cd", "device_types": ["cdrom"], "inserted": image is not None, "image": image}]


@pytest.mark.parametrize("answer", [drives(None), (400, fault("It has no virtual drives."))])
def test_a_running_machine_is_taken_over_as_it_is(api: ApiServer, client: ApiClient, lead: Lead, answer: Any) -> None:
    node = api.add("web-1", "manageable", power_state="power on")
    api.drives = answer
    wanted = Goal("web-1", "active", IMAGE, config_drive={"user_data": "x"}, running="adopt")
    assert foresee(client, [wanted])["web-1"]["verbs"] == ["adopt"]
    assert api.writes() == []
    result = lead(wanted)["web-1"]
    assert (result["verbs"], result["provision_state"]) == (["adopt"], "active")
    assert (node["instance_info"], node["body"]) == (IMAGE, {"target": "adopt"})


@pytest.mark.parametrize("answer", [drives("http://here/boot.iso"), (409, fault("The node is locked."))])
def test_a_running_machine_that_is_in_doubt_is_left_alone(
    api: ApiServer, client: ApiClient, lead: Lead, monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    monkeypatch.setattr(_client, "PAUSE", 0.0)
    api.add("web-1", "manageable", power_state="power on")
    api.drives = answer
    wanted = Goal("web-1", "active", IMAGE, running="adopt")
    for result in (foresee(client, [wanted])["web-1"], lead(wanted)["web-1"]):
        assert (result["failed"], result["verbs"]) == (True, [])
    assert api.writes() == []


def test_a_node_at_its_goal_is_left_alone(api: ApiServer, lead: Lead) -> None:
    api.add("web-1", "active", instance_info=IMAGE)
    result = lead(ACTIVE)["web-1"]
    assert (result["changed"], result["msg"]) == (False, "web-1 is active.")
    assert result["diff"]["before"] == result["diff"]["after"]
    assert api.writes() == []


def test_what_each_node_does_is_told_once(api: ApiServer, lead: Lead) -> None:
    api.add("web-1", "manageable", inspect_interface="no-inspect")
    api.looks = 3
    lead(Goal("web-1", "available"))
    assert [text.partition(" (")[0] for text in lead.told] == [
        "web-1: manageable",
        "web-1: cleaning",
        "web-1: available",
    ]


def test_the_step_that_runs_is_told(api: ApiServer, lead: Lead) -> None:
    api.add("web-1", "manageable", inspect_interface="no-inspect")
    api.nodes[0]["clean_step"] = {"interface": "deploy", "step": "erase_devices\x1b[31m"}
    lead(Goal("web-1", "available"))
    assert any(text.startswith("web-1: cleaning: deploy.erase_devices [31m") for text in lead.told)


def test_the_place_in_the_list_of_steps_is_told_where_the_daemon_shows_it(api: ApiServer, lead: Lead) -> None:
    operation = {"step": "boot.boot_ramdisk", "index": 0, "count": 4}
    api.add("web-1", "manageable", inspect_interface="no-inspect", driver_internal_info={"operation": operation})
    lead(Goal("web-1", "available"))
    assert any(text.startswith("web-1: cleaning: boot.boot_ramdisk (1 of 4)") for text in lead.told)


def test_a_node_that_shows_nothing_new_is_named_again(
    api: ApiServer, lead: Lead, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_converge, "REMINDER", 0.0)
    api.add("web-1", "manageable", inspect_interface="no-inspect")
    api.looks = 3
    lead(Goal("web-1", "available"))
    assert any(text.startswith("web-1: still cleaning (for ") for text in lead.told)


def test_a_node_that_fails_does_not_hold_up_the_others(api: ApiServer, lead: Lead) -> None:
    api.add("web-1")
    api.add("web-2")
    api.failing = {"web-1": "inspect"}
    results = lead(ACTIVE, Goal("web-2", "active", IMAGE))
    assert results["web-2"]["provision_state"] == "active"
    failed = results["web-1"]
    assert failed["failed"] and failed["provision_state"] == "inspect failed"
    assert failed["msg"] == (
        "Failed to bring web-1 to active: The BMC is on fire. "
        "When the cause is removed, run again: it goes on from inspect failed."
    )
    assert failed["diff"]["after"] == "enroll\nmanage: manageable\ninspect: inspect failed\n"
    assert "web-1: failed: " + failed["msg"] in lead.told


def test_the_next_run_goes_on_where_the_last_one_failed(api: ApiServer, lead: Lead) -> None:
    api.add("web-1", "inspect failed", last_error="The BMC is on fire.")
    assert lead(ACTIVE)["web-1"]["verbs"] == ["manage", "inspect", "provide", "active"]


def test_a_node_that_is_busy_is_waited_for(api: ApiServer, lead: Lead) -> None:
    api.add("web-1", "manageable", inspect_interface="no-inspect")
    api.looks = 3
    api.answer("PUT", "nodes/web-1/states/provision", {}, {"target": "provide"})
    result = lead(Goal("web-1", "available"))["web-1"]
    assert (result["verbs"], result["provision_state"]) == ([], "available")


def test_a_refusal_of_the_api_is_that_nodes_failure(api: ApiServer, lead: Lead) -> None:
    api.add("web-1", "active", protected=True)
    results = lead(Goal("web-1", "available"), Goal("gone", "available"))
    assert "set allow_undeploy" in results["web-1"]["msg"]
    assert results["gone"]["msg"].startswith("Failed to find gone: The API has no such node.")
    api.prepared = [(200, {"nodes": api.nodes}), (403, fault("Node web-1 is protected."))]
    refused = lead(Goal("web-1", "available", allow_undeploy=True))["web-1"]
    assert refused["msg"] == "HTTP 403: Node web-1 is protected."


def test_a_verb_that_leads_back_is_not_sent_for_ever(api: ApiServer, lead: Lead, monkeypatch: Any) -> None:
    monkeypatch.setitem(WAYS, "provide", ("cleaning", "manageable"))
    api.add("web-1", "manageable", inspect_interface="no-inspect")
    result = lead(Goal("web-1", "available"))["web-1"]
    assert "'provide' was sent already and led back to manageable" in result["msg"]


def test_nodes_that_are_late_are_reported_and_the_others_are_not(api: ApiServer, lead: Lead) -> None:
    api.add("web-1")
    api.add("web-2", "available", inspection_finished_at="then")
    api.looks = 10**6
    results = lead(ACTIVE, Goal("web-2", "available"), timeout=2)
    assert "It was still verifying after 2 s. The daemon goes on with it" in results["web-1"]["msg"]
    assert not results["web-2"]["failed"]


def test_a_daemon_that_restarts_is_waited_for(api: ApiServer, lead: Lead) -> None:
    api.add("web-1")
    api.looks = 5

    def silence(text: str) -> None:
        lead.told.append(text)
        api.silences = 1

    results = converge(lead.client, [ACTIVE], timeout=30, tell=silence)
    assert results["web-1"]["provision_state"] == "active"


def test_a_daemon_that_is_silent_from_the_start_is_an_error_at_once(api: ApiServer, lead: Lead) -> None:
    api.silences = 10**6
    with pytest.raises(Unreachable):
        lead(ACTIVE)
    assert len(api.requests) == 1


def test_a_daemon_that_stays_silent_is_an_error(api: ApiServer, lead: Lead, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_converge, "PATIENCE", 0.1)
    api.add("web-1")

    def silence(_text: str) -> None:
        api.silences = 10**6

    start = time.monotonic()
    with pytest.raises(Unreachable):
        converge(lead.client, [ACTIVE], timeout=30, tell=silence)
    assert 0.1 < time.monotonic() - start < 10


def test_what_would_happen_is_said_and_nothing_is_asked_for(api: ApiServer, client: ApiClient) -> None:
    api.add("web-1", "manageable", inspection_finished_at="then")
    api.add("web-3", "active")
    goals = [ACTIVE, Goal("web-2", "available"), Goal("web-3", "manageable")]
    results = foresee(client, goals)
    assert results["web-1"]["diff"] == {
        "before": "manageable\n",
        "after": "manageable\nprovide: available\nactive: active\n",
    }
    assert results["web-2"]["verbs"] == ["manage", "inspect", "provide"]
    assert results["web-2"]["uuid"] is None
    assert "set allow_undeploy" in results["web-3"]["msg"]
    assert api.writes() == []


def test_what_was_foreseen_is_what_happens(api: ApiServer, client: ApiClient, lead: Lead) -> None:
    for number, state in enumerate(["enroll", "manageable", "available", "clean failed", "deploy failed"]):
        api.add(f"web-{number}", state)
    goals = [Goal(node["name"], "active", IMAGE) for node in api.nodes]
    foreseen = foresee(client, goals)
    assert lead(*goals) == foreseen


def test_control_characters_never_reach_a_terminal() -> None:
    assert plain("a\x1b[2Jb\r\nc\x9bd\x00") == "a [2Jb c d "

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.tests.unit.plugins.api_server import ApiServer

GOALS = [
    {"node": "web-1", "state": "active", "instance_info": {"image_source": "http://images/os.raw"}},
    {"node": "web-2", "state": "available"},
]


def test_nodes_are_led_to_their_states_and_then_left_alone(api: ApiServer, module: Any) -> None:
    api.add("web-1")
    api.add("web-2")
    answer = module("node_state", api_url=api.url, nodes=GOALS)
    assert answer["changed"]
    assert answer["results_by_node"]["web-1"]["verbs"] == ["manage", "inspect", "provide", "active"]
    assert [(diff["before_header"], diff["after"].splitlines()[-1]) for diff in answer["diff"]] == [
        ("web-1", "active: active"),
        ("web-2", "provide: available"),
    ]
    again = module("node_state", api_url=api.url, nodes=GOALS)
    assert not again["changed"] and again["diff"] == []


def test_check_mode_only_says_what_would_happen(api: ApiServer, module: Any) -> None:
    api.add("web-1", "manageable")
    answer = module("node_state", api_url=api.url, nodes=GOALS, _ansible_check_mode=True)
    assert answer["changed"]
    assert answer["results_by_node"]["web-1"]["verbs"] == ["inspect", "provide", "active"]
    assert answer["results_by_node"]["web-2"]["verbs"] == ["manage", "inspect", "provide"]
    assert api.writes() == []


def test_a_node_that_fails_does_not_fail_the_module(api: ApiServer, module: Any) -> None:
    api.add("web-1")
    api.add("web-2")
    api.failing = {"web-1": "manage"}
    results = module("node_state", api_url=api.url, nodes=GOALS)["results_by_node"]
    assert results["web-1"]["failed"] and "The BMC is on fire." in results["web-1"]["msg"]
    assert not results["web-2"]["failed"]

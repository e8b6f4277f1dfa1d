# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.tests.unit.plugins.agent_server import AgentServer


def test_a_command_is_run_and_its_result_returned(agent: AgentServer, module: Any) -> None:
    agent.answers["standby.get_partition_uuids"] = lambda _: {"root uuid": "a"}
    answer = module("agent_command", **agent.options(), name="standby.get_partition_uuids")
    assert (answer["changed"], answer["result"]) == (True, {"root uuid": "a"})


def test_check_mode_sends_nothing(agent: AgentServer, module: Any) -> None:
    answer = module("agent_command", **agent.options(), name="standby.sync", _ansible_check_mode=True)
    assert answer["changed"]
    assert agent.requests == []


def test_best_effort_turns_a_failure_into_a_warning(agent: AgentServer, module: Any) -> None:
    agent.answers["standby.power_off"] = lambda _: {"error": {"message": "no"}}
    options = {**agent.options(), "name": "standby.power_off"}
    assert "the agent says: no" in module("agent_command", **options)["msg"]
    answer = module("agent_command", **options, best_effort=True)
    assert not answer.get("failed")
    assert "the agent says: no" in str(answer["warnings"])

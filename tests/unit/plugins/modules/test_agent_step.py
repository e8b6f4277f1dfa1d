# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.tests.unit.plugins.agent_server import AgentServer

STEP = {"type": "clean", "interface": "deploy", "step": "erase_devices", "args": {"a": 1}, "version": {"generic": "1"}}


def test_a_step_is_sent_and_waited_for(agent: AgentServer, module: Any) -> None:
    agent.ending = lambda: agent.end_step("clean")
    answer = module(
        "agent_step", **agent.options(), **STEP, node={"uuid": "n", "driver_info": {"a_password": "canary"}}
    )
    assert answer["changed"]
    sent = agent.posted[0]["params"]
    assert sent["step"] == {"interface": "deploy", "step": "erase_devices", "priority": 0, "args": {"a": 1}}
    assert sent["clean_version"] == {"generic": "1"}
    assert "canary" not in str(agent.posted)


def test_a_step_that_is_not_named_is_an_error(agent: AgentServer, module: Any) -> None:
    assert "not given: type, interface, step" in module("agent_step", **agent.options())["msg"]


def test_check_mode_sends_nothing(agent: AgentServer, module: Any) -> None:
    assert module("agent_step", **agent.options(), **STEP, _ansible_check_mode=True)["changed"]
    assert agent.requests == []

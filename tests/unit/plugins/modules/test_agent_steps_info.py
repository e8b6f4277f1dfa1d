# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.tests.unit.plugins.agent_server import AgentServer


def test_the_steps_and_versions_are_returned(agent: AgentServer, module: Any) -> None:
    agent.answers["clean.get_clean_steps"] = lambda params: {
        "clean_steps": {"Generic": [{"step": "erase_devices", "interface": "deploy", "priority": 10}]},
        "hardware_manager_version": {"generic": params["node"]["uuid"]},
    }
    answer = module("agent_steps_info", **agent.options(), type="clean", node={"uuid": "1.2"})
    assert answer["agent_steps"]["Generic"][0]["step"] == "erase_devices"
    assert answer["hardware_manager_version"] == {"generic": "1.2"}
    assert not answer["changed"]

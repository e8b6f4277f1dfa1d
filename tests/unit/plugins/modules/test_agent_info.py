# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.tests.unit.plugins.agent_server import AgentServer


def test_the_agent_tells_status_commands_and_inventory(agent: AgentServer, module: Any) -> None:
    agent.answers["poll.get_hardware_info"] = lambda _: {"disks": [{"name": "/dev/sda"}]}
    answer = module("agent_info", **agent.options(), gather=["status", "commands", "inventory"])
    assert answer["status"]["version"] == "13.0.0"
    assert answer["commands"] == []
    assert answer["inventory"] == {"disks": [{"name": "/dev/sda"}]}
    assert answer["changed"] is False


def test_a_busy_agent_is_a_clear_error(agent: AgentServer, module: Any) -> None:
    agent.execute({"name": "image.install_bootloader", "params": {}})
    answer = module("agent_info", **agent.options(), gather=["inventory"])
    assert answer["failed"]
    assert "it runs another command. Wait until that one has ended." in answer["msg"]


def test_options_that_are_missing_are_named(module: Any) -> None:
    assert "its url or token is not given" in module("agent_info")["msg"]

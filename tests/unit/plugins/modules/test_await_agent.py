# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.tests.unit.plugins.agent_server import AgentServer


def test_an_agent_that_answers_ends_the_wait(agent: AgentServer, module: Any) -> None:
    assert module("await_agent", url=agent.url, ca=agent.ca)["answers"] is True


def test_an_agent_that_does_not_come_is_an_error(agent: AgentServer, module: Any) -> None:
    assert "It has not answered within 0 s" in module("await_agent", url=agent.url, wait=0)["msg"]


def test_check_mode_does_not_wait(module: Any) -> None:
    assert "failed" not in module("await_agent", url="https://192.0.2.1:9999", _ansible_check_mode=True)

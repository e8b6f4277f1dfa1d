# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.tests.unit.plugins.agent_server import AgentServer


def test_an_agent_that_answers_is_there(agent: AgentServer, module: Any) -> None:
    answer = module("agent_presence", url=agent.url, ca=agent.ca)
    assert (answer["changed"], answer["answers"]) == (False, True)


def test_an_agent_with_another_certificate_is_not_there(agent: AgentServer, module: Any) -> None:
    assert module("agent_presence", url=agent.url)["answers"] is False


def test_without_an_address_there_is_no_agent(module: Any) -> None:
    assert module("agent_presence")["answers"] is False

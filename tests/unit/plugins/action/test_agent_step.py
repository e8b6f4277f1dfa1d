# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.plugins.plugin_utils._wave import Done, Waiting
from ansible_collections.rackwright.metal.tests.unit.plugins.agent_server import AgentServer

Data = dict[str, Any]
ERASE = {"name": "erase_devices", "interface": "deploy", "index": 3, "args": {"passes": 2}}


def test_a_step_is_sent_once_however_often_it_is_entered(agent: AgentServer, serve: Any, context: Data) -> None:
    context |= {"phase": "clean", "step": ERASE}
    assert serve("agent_step", context) == Waiting("agent")
    assert serve("agent_step", context) == Waiting("agent")
    agent.end_step("clean")
    outcome = serve("agent_step", context)
    assert outcome == Done(changed=True, facts={"agent_command_3": agent.commands[0]["id"]})
    assert agent.names() == ["clean.execute_clean_step"]
    sent = agent.posted[0]["params"]
    assert sent["step"] == {"interface": "deploy", "step": "erase_devices", "priority": 0, "args": {"passes": 2}}
    assert sent["clean_version"] == {"generic": "1"}
    assert sent["node"]["driver_internal_info"]["disk_erasure_concurrency"] == 4
    assert "canary" not in str(agent.posted)


def test_an_equal_step_later_in_the_list_is_sent_again(agent: AgentServer, serve: Any, context: Data) -> None:
    context |= {"phase": "clean", "step": ERASE}
    serve("agent_step", context)
    agent.end_step("clean")
    facts = {**context["facts"], **serve("agent_step", context).facts}
    assert serve("agent_step", {**context, "facts": facts}) == Done()
    assert serve("agent_step", {**context, "facts": facts, "step": {**ERASE, "index": 4}}) == Waiting("agent")
    assert len(agent.posted) == 2


def test_a_deploy_step_gets_the_config_drive(agent: AgentServer, serve: Any, context: Data) -> None:
    context["step"] = {"name": "inject_files", "interface": "deploy", "index": 1, "args": {}}
    serve("agent_step", context)
    assert agent.posted[0]["params"]["node"]["instance_info"]["configdrive"] == "canary-drive"
    assert "canary-password" not in str(agent.posted)


def test_a_node_whose_agent_has_not_come_waits_for_it(serve: Any, context: Data) -> None:
    context["agent"] = {"url": None, "token": "t", "ca": None, "seen_at": None}
    assert serve("agent_step", context) == Waiting("agent")


def test_a_busy_agent_is_waited_for(agent: AgentServer, serve: Any, context: Data) -> None:
    agent.execute({"name": "image.install_bootloader", "params": {}})
    assert serve("agent_step", context) == Waiting("agent")


def test_a_failed_step_fails_with_the_agents_words(agent: AgentServer, serve: Any, context: Data) -> None:
    serve("agent_step", context)
    agent.end(error={"message": "Disk broken"})
    with pytest.raises(OperationError, match="the agent says: Disk broken"):
        serve("agent_step", context)


def test_outside_a_run_the_plugin_does_what_the_module_does(agent: AgentServer, serve: Any) -> None:
    with pytest.raises(OperationError, match="not given: type, interface, step"):
        serve("agent_step", {}, **agent.options())
    with pytest.raises(OperationError, match="its url or token is not given"):
        serve("agent_step", {}, type="clean", interface="deploy", step="erase_devices")

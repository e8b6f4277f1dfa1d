# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils._agent import Agent, AgentBusy
from ansible_collections.rackwright.metal.plugins.module_utils._agent_steps import (
    Job,
    advance,
    finish,
    machine,
    step_job,
    step_params,
)
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.tests.unit.plugins.agent_server import TOKEN, AgentServer

NODE: dict[str, Any] = {
    "uuid": "node-1",
    "traits": ["CUSTOM_A"],
    "driver_info": {
        "redfish_username": "admin",
        "redfish_password": "canary-1",
        "nested": [{"auth_token": "canary-2"}],
    },
    "driver_internal_info": {"agent_secret_token": "canary-3", "agent_erase_devices_iterations": 3},
    "instance_info": {"configdrive": {"user_data": "canary-4"}},
}
ERASE = {"interface": "deploy", "step": "erase_devices_metadata"}


def job(**more: Any) -> Job:
    step = {**ERASE, **more}
    pair = step["interface"], step["step"]
    sent = machine(NODE, [{"address": "52:54:00:00:00:01"}])
    return step_job("clean", pair, lambda: step_params("clean", pair, sent, version={"generic": "1"}))


def client(server: AgentServer) -> Agent:
    return Agent(server.url, TOKEN, ca=server.ca, timeout=5)


def test_a_step_that_is_looked_at_twice_is_sent_once(agent: AgentServer) -> None:
    assert advance(client(agent), job()).status == "RUNNING"
    assert advance(client(agent), job()).status == "RUNNING"
    agent.end_step("clean")
    assert advance(client(agent), job()).status == "SUCCEEDED"
    assert agent.names() == ["clean.execute_clean_step"]
    assert agent.posted[0]["params"]["clean_version"] == {"generic": "1"}


def test_an_equal_step_later_in_the_list_is_carried_out_again(agent: AgentServer) -> None:
    advance(client(agent), job())
    agent.end_step("clean")
    first = advance(client(agent), job())
    second = advance(client(agent), job(), {first.id})
    assert second.status == "RUNNING"
    assert len(agent.posted) == 2


def test_another_step_does_not_count(agent: AgentServer) -> None:
    advance(client(agent), job())
    agent.end_step("clean")
    assert advance(client(agent), job(step="erase_devices")).status == "RUNNING"
    assert len(agent.posted) == 2


def test_an_agent_that_has_booted_again_gets_the_step_again(agent: AgentServer) -> None:
    advance(client(agent), job())
    agent.commands.clear()
    assert advance(client(agent), job()).status == "RUNNING"
    assert len(agent.posted) == 2


def test_a_failed_step_says_what_the_agent_said(agent: AgentServer) -> None:
    advance(client(agent), job())
    agent.end(
        error={"type": "BlockDeviceEraseError", "code": 500, "message": "Error erasing", "details": "/dev/sda frozen"}
    )
    with pytest.raises(OperationError, match=r"deploy\.erase_devices_metadata.*Error erasing: /dev/sda frozen"):
        advance(client(agent), job())
    assert len(agent.posted) == 1


def test_a_ramdisk_of_another_version_is_a_clear_error(agent: AgentServer) -> None:
    advance(client(agent), job())
    agent.end(status="CLEAN_VERSION_MISMATCH")
    with pytest.raises(OperationError, match="another deploy ramdisk"):
        advance(client(agent), job())


def test_a_busy_agent_makes_the_step_wait(agent: AgentServer) -> None:
    client(agent).start("image.install_bootloader", {})
    with pytest.raises(AgentBusy):
        advance(client(agent), job())


def test_shared_cluster_disk_wiped_is_told_by_the_agents_refusal(agent: AgentServer) -> None:
    """The agent itself guards shared disks; its refusal must reach the operator, with the disk's name."""
    advance(client(agent), job())
    agent.end(
        error={"type": "ProtectedDeviceError", "message": "Protected device", "details": "VMFS found on /dev/sdb"}
    )
    with pytest.raises(OperationError, match="VMFS found on /dev/sdb"):
        advance(client(agent), job())


def test_the_node_goes_with_masked_secrets_and_the_erase_parameters() -> None:
    sent = machine(NODE, [])
    assert "canary" not in str(sent)
    assert sent["node"]["driver_info"]["redfish_username"] == "admin"
    assert sent["node"]["traits"] == ["CUSTOM_A"]
    assert sent["node"]["driver_internal_info"]["agent_erase_devices_iterations"] == 3
    assert sent["node"]["driver_internal_info"]["agent_erase_devices_zeroize"] is True


def test_other_words_for_secrets_are_masked_for_the_agent_too() -> None:
    words = ("bmc_pass", "passwd", "root_pwd", "api_key", "credentials", "snmp_community", "ipmi_hex_kg_key")
    sent = machine({**NODE, "driver_info": {**dict.fromkeys(words, "canary"), "bypass": "open"}}, [])
    assert sent["node"]["driver_info"] == {**dict.fromkeys(words, "******"), "bypass": "open"}


def test_only_deploy_steps_get_the_config_drive() -> None:
    assert machine(NODE, [])["node"]["instance_info"]["configdrive"] == "******"
    assert machine(NODE, [], configdrive=True)["node"]["instance_info"]["configdrive"] == {"user_data": "canary-4"}
    assert NODE["driver_info"]["redfish_password"] == "canary-1"


def test_finish_waits_for_the_end_of_a_new_command(agent: AgentServer) -> None:
    advance(client(agent), job())
    agent.end_step("clean")
    agent.ending = lambda: agent.end_step("clean")
    assert finish(client(agent), job(), 10).status == "SUCCEEDED"
    assert len(agent.posted) == 2


def test_finish_gives_up_in_the_end(agent: AgentServer) -> None:
    with pytest.raises(OperationError, match="not ended after 0 seconds"):
        finish(client(agent), job(), 0)

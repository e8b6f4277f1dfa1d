# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.tests.unit.plugins.agent_server import AgentServer

IMAGE = {"id": "os.raw", "disk_format": "raw", "os_hash_algo": "sha256", "os_hash_value": "ab", "virtual_size": 1 << 30}
DISK = {"name": "/dev/sda", "size": 2 << 30, "hint": {"serial": "s== A"}}


def options(agent: AgentServer, **more: Any) -> dict[str, Any]:
    given = {"image": IMAGE, "image_url": "http://host/os.raw", "root_device": DISK, "node": {"uuid": "node-1"}}
    return {**agent.options(), **given, **more}


def test_the_agent_gets_image_disk_and_config_drive(agent: AgentServer, module: Any) -> None:
    agent.ending = lambda: agent.end_step("deploy")
    assert module("agent_image", **options(agent, configdrive={"meta_data": {"hostname": "web"}}))["changed"]
    sent = agent.posted[0]["params"]
    assert sent["step"]["args"]["image_info"]["urls"] == ["http://host/os.raw"]
    assert sent["step"]["args"]["configdrive"].startswith("H4sI")
    assert sent["node"]["instance_info"]["root_device"] == {"serial": "s== A"}


def test_an_image_larger_than_the_disk_is_not_sent(agent: AgentServer, module: Any) -> None:
    answer = module("agent_image", **options(agent, root_device={**DISK, "size": 1 << 20}))
    assert f"{1 << 30} bytes and the machine's only {1 << 20}" in answer["msg"]
    assert agent.requests == []


def test_check_mode_sends_nothing(agent: AgentServer, module: Any) -> None:
    assert module("agent_image", **options(agent), _ansible_check_mode=True)["changed"]
    assert agent.requests == []


def test_an_image_that_was_not_checked_is_an_error(agent: AgentServer, module: Any) -> None:
    assert "not given: image, root_device" in module("agent_image", **options(agent, image={}, root_device={}))["msg"]

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ansible.playbook.task import Task

from ansible_collections.rackwright.metal.plugins.plugin_utils._wave import Links, Outcome
from ansible_collections.rackwright.metal.tests.unit.plugins.agent_server import AgentServer

Data = dict[str, Any]


@pytest.fixture
def serve() -> Callable[..., Outcome]:
    """Let an action plugin of ours serve one node of a run, whose context the door has told."""

    def run(name: str, context: Data, /, **options: Any) -> Outcome:
        task = Task()
        task.action, task.args = name, options
        plugin = importlib.import_module(f"ansible_collections.rackwright.metal.plugins.action.{name}").ActionModule(
            task=task, connection=None, play_context=None, loader=None, templar=None, shared_loader_obj=None
        )
        with Links() as links:
            outcome: Outcome = plugin.operate(plugin._node("node-1", context, links))
        return outcome

    return run


@pytest.fixture
def context(agent: AgentServer, tmp_path: Path) -> Data:
    """Return what the door tells of a node that is being deployed and whose agent has come."""
    for folder in ("images", "boot", "allowed", "logs"):
        (tmp_path / folder).mkdir()
    return {
        "node": {
            "uuid": "node-1",
            "name": "rack1/u4",
            "traits": [],
            "properties": {"root_device": {"model": "disk"}},
            "instance_info": {"configdrive": "canary-drive"},
            "driver_info": {"redfish_password": "canary-password"},
            "driver_internal_info": {"agent_secret_token": "canary-secret"},
        },
        "ports": [{"address": "52:54:00:00:00:01"}],
        "phase": "deploy",
        "step": {"name": "write_image", "interface": "deploy", "index": 3, "args": {}},
        "facts": {"hardware_manager_version": {"generic": "1"}},
        "agent": agent.context(),
        "boot": {"mode": "uefi", "file": str(tmp_path / "boot/op-1.iso")},
        "deploy": {
            "instance_info": {},
            "configdrive": None,
            "image_dir": str(tmp_path / "images"),
            "image_url": "http://daemon/files/images",
            "allowed_paths": [str(tmp_path / "allowed")],
            "skip_block_devices": [],
            "root_device": {},
        },
        "logs": str(tmp_path / "logs"),
    }

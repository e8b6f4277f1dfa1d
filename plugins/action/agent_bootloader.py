# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._agent import Agent
from ansible_collections.rackwright.metal.plugins.module_utils._agent_work import OPTIONS, bootloader_job
from ansible_collections.rackwright.metal.plugins.plugin_utils._agent_action import AgentAction, carry_out
from ansible_collections.rackwright.metal.plugins.plugin_utils._wave import Done, Node, Outcome


class ActionModule(AgentAction):
    """Let the agent make the firmware boot what was written."""

    module = "agent_bootloader"
    arguments = OPTIONS[module]

    def options(self, context: dict[str, Any]) -> dict[str, Any]:
        """Take the boot mode from the machine's."""
        given = super().options(context)
        return {**given, "boot_mode": context["boot"]["mode"]} if context else given

    def serve(self, node: Node, agent: Agent) -> Outcome:
        """Install the boot loader; a BIOS starts what the disk begins with, and needs none."""
        boot_mode = node.params["boot_mode"]
        return carry_out(node, agent, bootloader_job(agent, boot_mode)) if boot_mode == "uefi" else Done()

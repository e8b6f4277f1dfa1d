# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._agent import Agent
from ansible_collections.rackwright.metal.plugins.module_utils._agent_work import OPTIONS, choose
from ansible_collections.rackwright.metal.plugins.plugin_utils._agent_action import AgentAction
from ansible_collections.rackwright.metal.plugins.plugin_utils._wave import Done, Node, Outcome


class ActionModule(AgentAction):
    """Choose the disk that the image goes to."""

    module = "root_device"
    arguments = OPTIONS[module]

    def options(self, context: dict[str, Any]) -> dict[str, Any]:
        """Take the hints of the deployment."""
        given = super().options(context)
        if not context:
            return given
        deploy = context["deploy"]
        return {**given, "hints": deploy["root_device"], "skip_block_devices": deploy["skip_block_devices"]}

    def serve(self, node: Node, agent: Agent) -> Outcome:
        """Choose once for an operation: while the agent writes it can't be asked again."""
        if node.facts.get("root_device"):
            return Done()
        inventory = agent.call("poll.get_hardware_info", {})
        chosen = choose(inventory, node.params["hints"], node.params["skip_block_devices"])
        return Done(facts={"root_device": chosen})

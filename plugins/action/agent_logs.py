# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._agent import Agent
from ansible_collections.rackwright.metal.plugins.module_utils._agent_work import OPTIONS, save_logs
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.plugins.plugin_utils._agent_action import AgentAction
from ansible_collections.rackwright.metal.plugins.plugin_utils._wave import Done, Node, Outcome


class ActionModule(AgentAction):
    """Save the agent's logs."""

    module = "agent_logs"
    arguments = OPTIONS[module]

    def options(self, context: dict[str, Any]) -> dict[str, Any]:
        """Take the folder of the daemon, and name the file after the node."""
        given = super().options(context)
        if not context:
            return given
        node = context["node"]
        return {**given, "dest": context["logs"], "label": "_".join(filter(None, (node["uuid"], node.get("name"))))}

    def operate(self, node: Node) -> Outcome:
        """Save them; in a run with best_effort, where no agent has come, there is nothing to save."""
        if node.context and node.params["best_effort"] and not node.params.get("url"):
            return Done()
        return super().operate(node)

    def serve(self, node: Node, agent: Agent) -> Outcome:
        """Save them; with best_effort an agent that cannot give them is no failure: the first error must stay."""
        try:
            save_logs(agent, node.params["dest"], node.params["label"])
        except OperationError:
            if not node.params["best_effort"]:
                raise
            return Done()
        return Done(changed=True)

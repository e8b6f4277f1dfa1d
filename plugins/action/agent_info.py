# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.rackwright.metal.plugins.module_utils._agent import Agent
from ansible_collections.rackwright.metal.plugins.module_utils._agent_work import OPTIONS, gather
from ansible_collections.rackwright.metal.plugins.plugin_utils._agent_action import AgentAction
from ansible_collections.rackwright.metal.plugins.plugin_utils._wave import Done, Node, Outcome


class ActionModule(AgentAction):
    """Tell what the agent is, did and sees."""

    module = "agent_info"
    arguments = OPTIONS[module]

    def serve(self, node: Node, agent: Agent) -> Outcome:
        """Tell it."""
        return Done(result=gather(agent, node.params["gather"]))

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.rackwright.metal.plugins.module_utils._agent import Agent
from ansible_collections.rackwright.metal.plugins.module_utils._agent_steps import machine
from ansible_collections.rackwright.metal.plugins.module_utils._agent_work import OPTIONS, offered
from ansible_collections.rackwright.metal.plugins.plugin_utils._agent_action import AgentAction
from ansible_collections.rackwright.metal.plugins.plugin_utils._wave import Done, Node, Outcome


class ActionModule(AgentAction):
    """Ask the agent which steps it offers."""

    module = "agent_steps_info"
    arguments = OPTIONS[module]

    def serve(self, node: Node, agent: Agent) -> Outcome:
        """Report the steps, and the versions that every step must be sent with, as facts."""
        kind = node.params["type"]
        sent = machine(node.context["node"], node.context["ports"], configdrive=kind == "deploy")
        return Done(facts=offered(agent, kind, sent))

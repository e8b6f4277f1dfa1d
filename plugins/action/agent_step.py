# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._agent import Agent
from ansible_collections.rackwright.metal.plugins.module_utils._agent_steps import machine, step_job, step_params
from ansible_collections.rackwright.metal.plugins.module_utils._agent_work import OPTIONS
from ansible_collections.rackwright.metal.plugins.plugin_utils._agent_action import AgentAction, carry_out
from ansible_collections.rackwright.metal.plugins.plugin_utils._wave import Node, Outcome


class ActionModule(AgentAction):
    """Carry out a step of the agent: in a run the one that the operation is at."""

    module = "agent_step"
    arguments = OPTIONS[module]

    def serve(self, node: Node, agent: Agent) -> Outcome:
        """Look for the step's command before starting it, so that it is carried out once whatever happens to us."""
        step, kind = node.context["step"], str(node.context["phase"])
        pair = str(step["interface"]), str(step["name"])

        def params() -> dict[str, Any]:
            sent = machine(node.context["node"], node.context["ports"], configdrive=kind == "deploy")
            version = node.facts.get("hardware_manager_version")
            return step_params(kind, pair, sent, args=step.get("args"), version=version)

        return carry_out(node, agent, step_job(kind, pair, params))

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._agent import Agent, AgentBusy
from ansible_collections.rackwright.metal.plugins.module_utils._agent_steps import Job
from ansible_collections.rackwright.metal.plugins.module_utils._agent_work import OPTIONS
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.plugins.plugin_utils._agent_action import AgentAction, carry_out
from ansible_collections.rackwright.metal.plugins.plugin_utils._wave import Done, Node, Outcome


class ActionModule(AgentAction):
    """Run a command of the agent."""

    module = "agent_command"
    arguments = OPTIONS[module]

    def options(self, context: dict[str, Any]) -> dict[str, Any]:
        """Take the parameters that the daemon has for the command, such as a password that no task may name."""
        known = (context.get("commands") or {}).get(self._task.args.get("name"))
        return super().options(context) | ({} if known is None else {"parameters": known})

    def operate(self, node: Node) -> Outcome:
        """Run it; in a run with best_effort, where the agent is gone, there is nobody who could."""
        if node.context and node.params["best_effort"] and not node.params.get("url"):
            return Done()
        return super().operate(node)

    def serve(self, node: Node, agent: Agent) -> Outcome:
        """Start the command and wait for its end; with best_effort do not care how it goes, nor for its end."""
        job = Job(node.params["name"], lambda: dict(node.params["parameters"]))
        if not node.params["best_effort"]:
            return carry_out(node, agent, job)
        try:
            carry_out(node, agent, job)
        except (OperationError, AgentBusy):
            return Done()
        return Done(changed=True)

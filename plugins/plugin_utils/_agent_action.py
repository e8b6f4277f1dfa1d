# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of the action plugins that talk to the agent.

In a run no agent is waited for: a node whose agent has not come yet, or is busy, leaves the run, and its step looks
again when the agent's next heartbeat comes. Outside a run the plugin does what the module does.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from ansible_collections.rackwright.metal.plugins.module_utils._agent import RUNNING, Agent, AgentBusy
from ansible_collections.rackwright.metal.plugins.module_utils._agent_steps import Job, advance
from ansible_collections.rackwright.metal.plugins.module_utils._agent_work import WORK, connect
from ansible_collections.rackwright.metal.plugins.plugin_utils._wave import Done, Node, Outcome, Waiting, WaveAction

_CLAIM = "agent_command_"
"""Facts that start so hold the id of the agent's command that carried out the step of that position."""


def alone(work: Any, node: Node) -> Done:
    """Do what a module does, for the one host of a task outside a run."""
    answer = dict(work(node.params, node.check_mode))
    return Done(changed=answer.pop("changed"), result=answer)


class AgentAction(WaveAction):
    """Serve nodes through their agents."""

    groups = ("agent",)
    module: ClassVar[str] = ""

    def operate(self, node: Node) -> Outcome:
        """Do the module's work for one host; in a run serve the node, or let it wait for its agent."""
        if not node.context:
            return alone(WORK[self.module], node)
        if not node.params.get("url"):
            return Waiting("agent")
        try:
            return self.serve(node, connect(node.params))
        except AgentBusy:
            return Waiting("agent")

    @abstractmethod
    def serve(self, node: Node, agent: Agent) -> Outcome:
        """Do the work of a step for one node of a run. Raise AgentBusy or OperationError."""


def carry_out(node: Node, agent: Agent, job: Job) -> Outcome:
    """Look for the step's command, start it when it was not, and tell how far it is."""
    own = f"{_CLAIM}{node.context['step']['index']}"
    if own in node.facts:
        return Done()
    claimed = {str(value) for key, value in node.facts.items() if key.startswith(_CLAIM)}
    command = advance(agent, job, claimed)
    if command.status == RUNNING:
        return Waiting("agent")
    return Done(changed=True, facts={own: command.id})

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.rackwright.metal.plugins.module_utils._presence import AWAIT_ARGUMENTS, await_answer
from ansible_collections.rackwright.metal.plugins.plugin_utils._wave import Done, Node, Outcome, Waiting, WaveAction


class ActionModule(WaveAction):
    """Wait until the agent runs."""

    groups = ("agent",)
    arguments = AWAIT_ARGUMENTS

    def operate(self, node: Node) -> Outcome:
        """In a run, leave it to the agent's heartbeat to go on; for a playbook, ask until it answers.

        An inspecting agent sends no heartbeat but a report, which the step that needs it waits for.
        """
        if node.context.get("phase") == "inspect":
            return Done()
        if node.context:
            return Waiting("agent")
        await_answer(node.params, check=node.check_mode)
        return Done(result={"answers": True})

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._fake import ARGUMENTS, act
from ansible_collections.rackwright.metal.plugins.plugin_utils._wave import Done, Node, Outcome, Waiting, WaveAction


class ActionModule(WaveAction):
    """Take a step of fake hardware."""

    groups = ("fake",)
    arguments = ARGUMENTS

    def options(self, context: dict[str, Any]) -> dict[str, Any]:
        """Take the step and what the node says about faking it."""
        if not context:
            return {}
        step, node = context["step"], context["node"]
        given = {"name": step["name"], "interface": step["interface"], "args": step.get("args") or {}}
        given |= super().options(context)
        return given | {"driver_info": node.get("driver_info") or {}, "power_state": node.get("power_state")}

    def operate(self, node: Node) -> Outcome:
        """Act; trigger_servicewait waits for an agent besides, as its name says."""
        facts = {} if node.check_mode else act(node.params)
        if node.params["name"] == "trigger_servicewait" and not (node.context.get("agent") or {}).get("url"):
            return Waiting("agent")
        return Done(changed=True, facts=facts, result={"facts": facts})

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.plugins.module_utils._inventory_wait import AWAIT_OPTIONS, await_inventory
from ansible_collections.rackwright.metal.plugins.plugin_utils._agent_action import alone
from ansible_collections.rackwright.metal.plugins.plugin_utils._wave import Done, Node, Outcome, Waiting, WaveAction


class ActionModule(WaveAction):
    """Wait for the inventory of a machine that is being inspected."""

    arguments = AWAIT_OPTIONS

    def operate(self, node: Node) -> Outcome:
        """Wait; in a run look whether the daemon has taken the report in or refused it, which it notes as facts."""
        if not node.context:
            return alone(await_inventory, node)
        if refused := node.facts.get("inventory_refused"):
            raise OperationError("evaluate the inspection report", refused["cause"], refused["action"])
        return Done() if node.facts.get("inventory_received") else Waiting("inspection")

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.rackwright.metal.plugins.module_utils._boot_iso import ARGUMENTS, RULES, make
from ansible_collections.rackwright.metal.plugins.plugin_utils._wave import Done, Node, Outcome, WaveAction


class ActionModule(WaveAction):
    """Build the image that a node boots the agent from."""

    groups = ("boot", "deploy")
    arguments = ARGUMENTS
    rules = RULES

    def operate(self, node: Node) -> Outcome:
        """Build the image, or remove it."""
        changed = make(node.params, check=node.check_mode)
        return Done(changed, result={"file": node.params["file"]})

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.rackwright.metal.plugins.module_utils._config_drive import ready
from ansible_collections.rackwright.metal.plugins.module_utils._image_work import DRIVE_OPTIONS, config_drive
from ansible_collections.rackwright.metal.plugins.plugin_utils._agent_action import alone
from ansible_collections.rackwright.metal.plugins.plugin_utils._wave import Done, Node, Outcome, WaveAction


class ActionModule(WaveAction):
    """Make a config drive; in a run only check that it can be made."""

    arguments = DRIVE_OPTIONS

    def operate(self, node: Node) -> Outcome:
        """Do it; the drive itself is made when it is sent, because it may hold secrets and no fact may."""
        if not node.context:
            return alone(config_drive, node)
        ready(node.context["deploy"].get("configdrive"), node.context["node"])
        return Done()

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.base import POWER_TARGETS
from ansible_collections.rackwright.metal.plugins.module_utils._bmc.operations import POWER_ARGUMENTS, set_power
from ansible_collections.rackwright.metal.plugins.plugin_utils._bmc import BmcAction


class ActionModule(BmcAction):
    """Set the power state; a step of the verb "power" says which."""

    arguments = BmcAction.arguments | POWER_ARGUMENTS
    operation = staticmethod(set_power)

    def options(self, context: dict[str, Any]) -> dict[str, Any]:
        """Take the target from the arguments of the step, where there is one."""
        target = self.asked(context, "target")
        given = {"state": POWER_TARGETS.get(target, target), "timeout": self.asked(context, "timeout")}
        return super().options(context) | {key: value for key, value in given.items() if value is not None}

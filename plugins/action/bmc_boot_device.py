# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.operations import (
    BOOT_DEVICE_ARGUMENTS,
    set_boot_device,
)
from ansible_collections.rackwright.metal.plugins.plugin_utils._bmc import BmcAction


class ActionModule(BmcAction):
    """Set the boot device; a step of the verb "management" says which."""

    arguments = BmcAction.arguments | BOOT_DEVICE_ARGUMENTS
    operation = staticmethod(set_boot_device)

    def options(self, context: dict[str, Any]) -> dict[str, Any]:
        """Take the device from the arguments of the step, where there is one."""
        given = {"device": self.asked(context, "boot_device"), "persistent": self.asked(context, "persistent")}
        return super().options(context) | {key: value for key, value in given.items() if value is not None}

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.operations import (
    BOOT_DEVICE_ARGUMENTS,
    set_boot_device,
)
from ansible_collections.rackwright.metal.plugins.plugin_utils._bmc import BmcAction


class ActionModule(BmcAction):
    """Set the boot device; a step of the verb "management" says which.

    Where a machine has booted something else before, the context says whether the choice is to stay (``override``).
    """

    groups = ("bmc", "override")
    arguments = BmcAction.arguments | BOOT_DEVICE_ARGUMENTS
    operation = staticmethod(set_boot_device)
    asks = (("device", "boot_device"), ("persistent", "persistent"))

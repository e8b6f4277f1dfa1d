# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.operations import BOOT_MODE_ARGUMENTS, set_boot_mode
from ansible_collections.rackwright.metal.plugins.plugin_utils._bmc import BmcAction


class ActionModule(BmcAction):
    """Set the boot mode."""

    arguments = BmcAction.arguments | BOOT_MODE_ARGUMENTS
    operation = staticmethod(set_boot_mode)
    asks = (("mode", "boot_mode"),)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.operations import (
    SECURE_BOOT_ARGUMENTS,
    set_secure_boot,
)
from ansible_collections.rackwright.metal.plugins.plugin_utils._bmc import BmcAction


class ActionModule(BmcAction):
    """Switch secure boot on or off."""

    arguments = BmcAction.arguments | SECURE_BOOT_ARGUMENTS
    operation = staticmethod(set_secure_boot)
    asks = (("enabled", "secure_boot"),)

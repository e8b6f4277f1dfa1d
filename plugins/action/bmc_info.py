# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.operations import INFO_ARGUMENTS, read_info
from ansible_collections.rackwright.metal.plugins.plugin_utils._bmc import BmcAction


class ActionModule(BmcAction):
    """Read what a BMC tells of its machine."""

    arguments = BmcAction.arguments | INFO_ARGUMENTS
    operation = staticmethod(read_info)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.operations import interrupt
from ansible_collections.rackwright.metal.plugins.plugin_utils._bmc import BmcAction


class ActionModule(BmcAction):
    """Interrupt a machine."""

    operation = staticmethod(interrupt)

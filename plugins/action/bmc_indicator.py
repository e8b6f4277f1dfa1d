# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.operations import INDICATOR_ARGUMENTS, set_indicator
from ansible_collections.rackwright.metal.plugins.plugin_utils._bmc import BmcAction


class ActionModule(BmcAction):
    """Bring a light into a state."""

    arguments = BmcAction.arguments | INDICATOR_ARGUMENTS
    operation = staticmethod(set_indicator)
    asks = (("name", "indicator"), ("component", "component"), ("state", "state"))

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlsplit

from ansible_collections.rackwright.metal.plugins.module_utils._bmc import redfish_look
from ansible_collections.rackwright.metal.plugins.module_utils._bmc.base import POWER_STATES
from ansible_collections.rackwright.metal.plugins.module_utils._bmc.operations import INFO_ARGUMENTS, read_info
from ansible_collections.rackwright.metal.plugins.plugin_utils._bmc import BmcAction, connected
from ansible_collections.rackwright.metal.plugins.plugin_utils._wave import Done, Node, Outcome

_SHORT_WAYS = {"redfish": redfish_look.look}


class ActionModule(BmcAction):
    """Read what a BMC tells of its machine.

    Where the conductor only looks at the power, its context holds ``look``: what it remembers of the way there.
    """

    arguments = BmcAction.arguments | INFO_ARGUMENTS
    operation = staticmethod(read_info)

    def operate(self, node: Node) -> Outcome:
        """Read it from the BMC, the short way if one is known and open."""
        if (known := node.context.get("look")) is None:
            return super().operate(node)
        path, closed = known.get("path"), bool(known.get("closed"))
        short_way = _SHORT_WAYS.get(node.params["protocol"])
        if short_way and path and not closed:
            try:
                state, health = short_way(node.params, path)
                return Done(facts={"power_state": POWER_STATES[state], **({"health": health} if health else {})})
            except redfish_look.ShortWayClosed as error:
                closed = error.for_good
        outcome = super().operate(node)
        path = urlsplit(connected(node, node.params).machine).path
        return replace(outcome, facts={**outcome.facts, "look": {"path": path, "closed": closed}})

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.base import POWER_STATES
from ansible_collections.rackwright.metal.plugins.module_utils._presence import ARGUMENTS, answers
from ansible_collections.rackwright.metal.plugins.plugin_utils._bmc import connected
from ansible_collections.rackwright.metal.plugins.plugin_utils._wave import (
    Done,
    Node,
    Outcome,
    Settled,
    Waiting,
    WaveAction,
)

_ON = {"power_state": POWER_STATES["on"]}


class ActionModule(WaveAction):
    """See whether the agent runs already, or is about to."""

    groups = ("agent",)
    arguments = ARGUMENTS

    def operate(self, node: Node) -> Outcome:
        """End the step where the agent answers; wait for it where the machine is booting it; go on otherwise.

        Either way the machine is on. Who turned it on may have died before that was stored, so it is told here.
        """
        if node.params["url"] and answers(node.params):
            return Settled({"answers": True}, facts=_ON)
        if node.context and self._is_booting(node):
            return Settled(facts=_ON) if node.context["phase"] == "inspect" else Waiting("agent", facts=_ON)
        return Done(result={"answers": False})

    def _is_booting(self, node: Node) -> bool:
        """Return whether the machine is on with our image in it, which an earlier run of this step brought about.

        Where it booted something else then, it must have been booted anew since: its override tells, which stays
        after every other boot in vain.
        """
        image = node.context["boot"]["url"]
        if node.context["agent"]["url"]:  # this boot has come to its end: its agent has spoken, and answers no more
            return False
        bmc = connected(node, node.context["bmc"])
        stays = (node.context.get("override") or {}).get("persistent")
        is_new = stays is None or bmc.boot().persistent == stays
        return is_new and bmc.power_state() == "on" and bmc.media(image).image == image

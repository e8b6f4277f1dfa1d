# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.rackwright.metal.plugins.module_utils._image import IMAGE_OPTIONS, prepare, withdraw
from ansible_collections.rackwright.metal.plugins.module_utils._image_work import image
from ansible_collections.rackwright.metal.plugins.plugin_utils._agent_action import alone
from ansible_collections.rackwright.metal.plugins.plugin_utils._image_context import place
from ansible_collections.rackwright.metal.plugins.plugin_utils._wave import Done, Node, Outcome, WaveAction


class ActionModule(WaveAction):
    """Check an image and make it ready for the agent, or take it away again."""

    arguments = IMAGE_OPTIONS

    def operate(self, node: Node) -> Outcome:
        """Do it; in a run for the image of instance_info, which becomes the fact ``image_info``."""
        if not node.context:
            return alone(image, node)
        where = place(node.context)
        if node.params["state"] == "absent":
            return Done(changed=withdraw(where.path))
        ready = prepare(node.context["deploy"]["instance_info"], where)
        return Done(changed=ready.changed, facts={"image_info": ready.facts()})

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._agent import Agent
from ansible_collections.rackwright.metal.plugins.module_utils._agent_steps import step_job
from ansible_collections.rackwright.metal.plugins.module_utils._agent_work import OPTIONS, WRITE_IMAGE, write_image
from ansible_collections.rackwright.metal.plugins.module_utils._config_drive import ready
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.plugins.module_utils._image import check_fits, prepare
from ansible_collections.rackwright.metal.plugins.plugin_utils._agent_action import AgentAction, carry_out
from ansible_collections.rackwright.metal.plugins.plugin_utils._image_context import place
from ansible_collections.rackwright.metal.plugins.plugin_utils._wave import Node, Outcome


class ActionModule(AgentAction):
    """Let the agent write an image: in a run the one that step ``deploy`` has checked."""

    module = "agent_image"
    arguments = OPTIONS[module]

    def serve(self, node: Node, agent: Agent) -> Outcome:
        """Write the image to the disk that was chosen, unless the agent is at it or has done it."""
        image, disk = node.facts.get("image_info"), node.facts.get("root_device")
        if not image or not disk:
            raise OperationError(
                "write the image", "no image was checked, or no disk chosen, before", "Start the deployment again."
            )

        def params() -> dict[str, Any]:
            check_fits(image, disk)
            deploy, whole = node.context["deploy"], node.context["node"]
            drive = ready(deploy.get("configdrive"), whole)
            url = _offered(node.context) if image["local"] else deploy["instance_info"]["image_source"]
            values = {**node.params, "node": whole, "ports": node.context["ports"], "image": image, "image_url": url}
            version = node.facts.get("hardware_manager_version")
            return write_image({**values, "root_device": disk, "version": version}, drive)

        return carry_out(node, agent, step_job("deploy", WRITE_IMAGE, params))


def _offered(context: dict[str, Any]) -> str | None:
    """Return the URL of the file, made ready here where that was done on the host of another conductor."""
    where = place(context)
    if where.path is not None and not where.path.exists():
        prepare(context["deploy"]["instance_info"], where)
    return where.url

# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: wave
short_description: The nodes of one run of the Rackwright daemon
version_added: 0.1.0
author: Rackwright contributors (@rackwright)
description:
  - Asks the conductor that started the run, through its unix socket, which nodes take part.
  - Host names are the UUIDs of the nodes.
  - The host variable C(node) is the node as the API shows it, without secrets.
  - For a step with ordinary tasks of its own, the arguments that it was asked for are host variables too.
  - All of it is text that users and machines wrote, so none of it is ever taken for a template.
options:
  plugin:
    description:
      - The name of this plugin.
    type: str
    required: true
    choices: [rackwright.metal.wave]
  door:
    description:
      - Path of the conductor's unix socket.
    type: path
    required: true
  run:
    description:
      - Identifier of the run.
    type: str
    required: true
"""

EXAMPLES = r"""
# run.wave.yml, as the daemon writes it
plugin: rackwright.metal.wave
door: /var/lib/rackwright/door.sock
run: 8b1c1f9e-7d2e-4c55-8f5a-0a3f0a0b7a11
"""

from typing import Any

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin

from ansible_collections.rackwright.metal.plugins.plugin_utils._door import DoorError, ask
from ansible_collections.rackwright.metal.plugins.plugin_utils._lifeline import die_with_parent


class InventoryModule(BaseInventoryPlugin):
    """Make a host of every node of the run."""

    NAME = "rackwright.metal.wave"
    trusted_by_default = False

    def verify_file(self, path: str) -> bool:
        """Return whether the file is one that the daemon wrote for a run."""
        return path.endswith("run.wave.yml")

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Add the nodes of the run to the inventory."""
        die_with_parent()
        super().parse(inventory, loader, path, cache)
        plugin: Any = self  # ansible-core does not annotate these
        plugin._read_config_data(path)
        try:
            contexts = ask(plugin.get_option("door"), plugin.get_option("run"))
        except DoorError as error:
            raise AnsibleParserError(str(error)) from error
        for uuid, context in contexts.items():
            inventory.add_host(uuid)
            inventory.set_variable(uuid, "node", context["node"])
            for name, value in (context.get("variables") or {}).items():
                inventory.set_variable(uuid, name, value)

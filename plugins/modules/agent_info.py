#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: agent_info
short_description: Ask the agent of a machine what it is and does
version_added: 0.1.0
author: Rackwright contributors (@rackwright)
description:
  - Asks ironic-python-agent, which runs in the deploy ramdisk, for its version, its commands and the machine's
    hardware.
extends_documentation_fragment:
  - rackwright.metal._agent
options:
  gather:
    description:
      - What to ask for. V(inventory) is refused while the agent runs a command.
    type: list
    elements: str
    choices: [status, commands, inventory]
    default: [status, commands]
"""

EXAMPLES = r"""
- name: See what the agent has done so far
  rackwright.metal.agent_info:
    url: "{{ agent_url }}"
    token: "{{ agent_token }}"
    ca: "{{ agent_certificate }}"
  register: agent
"""

RETURN = r"""
status:
  description: When the agent was started (seconds since 1970), and its version.
  returned: when O(gather) holds V(status)
  type: dict
  sample: {started_at: 1767225600.0, version: 13.0.0}
commands:
  description: Id, name, status and error of each command since the ramdisk was booted, oldest first.
  returned: when O(gather) holds V(commands)
  type: list
  elements: dict
  sample: [{id: 5c2f, name: execute_clean_step, status: RUNNING, error: ""}]
inventory:
  description: The machine's hardware.
  returned: when O(gather) holds V(inventory)
  type: dict
  sample: {disks: [{name: /dev/sda, size: 10737418240}]}
"""

from ansible_collections.rackwright.metal.plugins.module_utils._agent_work import OPTIONS, WORK
from ansible_collections.rackwright.metal.plugins.module_utils._operation import run_module


def main() -> None:
    """Ask, and tell the answers."""
    run_module(OPTIONS["agent_info"], WORK["agent_info"])


if __name__ == "__main__":
    main()

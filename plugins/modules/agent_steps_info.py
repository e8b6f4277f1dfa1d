#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: agent_steps_info
short_description: Ask the agent which steps it offers
version_added: 0.1.0
author: Rackwright contributors (@rackwright)
description:
  - Asks ironic-python-agent for its clean, deploy or service steps and for the versions of its hardware managers.
extends_documentation_fragment:
  - rackwright.metal._agent
options:
  type:
    description:
      - The kind of steps.
    type: str
    choices: [clean, deploy, service]
    required: true
  node:
    description:
      - The node as the API shows it. Values of secret keys are masked before they are sent.
    type: dict
    default: {}
  ports:
    description:
      - The ports of the node as the API shows them.
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- name: See which clean steps the machine offers
  rackwright.metal.agent_steps_info:
    url: "{{ agent_url }}"
    token: "{{ agent_token }}"
    ca: "{{ agent_certificate }}"
    type: clean
    node: "{{ node }}"
  register: offered
"""

RETURN = r"""
agent_steps:
  description: The steps, by the name of the hardware manager that offers them.
  returned: success
  type: dict
  sample: {GenericHardwareManager: [{step: erase_devices_metadata, interface: deploy, priority: 99}]}
hardware_manager_version:
  description: The versions of the hardware managers.
  returned: success
  type: dict
  sample: {generic_hardware_manager: "1.2"}
"""

from ansible_collections.rackwright.metal.plugins.module_utils._agent_work import OPTIONS, WORK
from ansible_collections.rackwright.metal.plugins.module_utils._operation import run_module


def main() -> None:
    """Ask, and tell the steps."""
    run_module(OPTIONS["agent_steps_info"], WORK["agent_steps_info"])


if __name__ == "__main__":
    main()

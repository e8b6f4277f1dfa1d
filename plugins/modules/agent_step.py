#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: agent_step
short_description: Carry out a step of the agent
version_added: 0.1.0
author: Rackwright contributors (@rackwright)
description:
  - Lets ironic-python-agent carry out one of its clean, deploy or service steps, and waits for its end.
  - In a run of the Rackwright daemon the step comes from the daemon, nothing is waited for, and a step that was sent
    is looked for and not sent again.
extends_documentation_fragment:
  - rackwright.metal._agent
options:
  type:
    description:
      - The kind of step.
    type: str
    choices: [clean, deploy, service]
  interface:
    description:
      - Interface of the step, such as V(deploy).
    type: str
  step:
    description:
      - Name of the step, such as V(erase_devices_metadata).
    type: str
  args:
    description:
      - Arguments of the step.
    type: dict
    default: {}
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
  version:
    description:
      - The versions of the agent's hardware managers, as M(rackwright.metal.agent_steps_info) returned them.
      - The agent refuses a step when they are no longer the same.
    type: dict
  wait_timeout:
    description:
      - Seconds to wait for the end of it.
    type: int
    default: 3600
"""

EXAMPLES = r"""
- name: Erase what names the disks' content
  rackwright.metal.agent_step:
    url: "{{ agent_url }}"
    token: "{{ agent_token }}"
    ca: "{{ agent_certificate }}"
    type: clean
    interface: deploy
    step: erase_devices_metadata
    node: "{{ node }}"
    version: "{{ offered.hardware_manager_version }}"
"""

RETURN = r"""
result:
  description: What the step returned.
  returned: success, and not in check mode
  type: raw
  sample: null
"""

from ansible_collections.rackwright.metal.plugins.module_utils._agent_work import OPTIONS, WORK
from ansible_collections.rackwright.metal.plugins.module_utils._operation import run_module


def main() -> None:
    """Send the step and wait."""
    run_module(OPTIONS["agent_step"], WORK["agent_step"])


if __name__ == "__main__":
    main()

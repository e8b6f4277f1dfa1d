#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: sequence
short_description: Carry out several tasks for a machine over one connection to its BMC
version_added: 0.1.0
author: Rackwright contributors (@rackwright)
description:
  - Does the same as its tasks would do one by one, each as a task of the play.
  - Ansible starts one process for all of them, and one login at the BMC serves all of them.
  - In a run of the Rackwright daemon each machine goes through them at its own pace.
  - It runs on the controller.
attributes:
  check_mode:
    support: full
    description: Says what would change, and changes nothing.
  diff_mode:
    support: full
    description: Shows what changes; each result has its own.
options:
  tasks:
    description:
      - The tasks in their order. Each is its C(name), which is for the reader, and one module with its options.
      - Modules of this collection with names that begin with C(bmc_) or C(agent_), and those whose work is for one
        machine, can be parts. Other modules, loops, conditions and registered variables need a task of their own.
      - Defaults for modules (C(module_defaults)) complete their options, as those of other tasks.
      - The first one that fails is the last one.
    type: list
    elements: dict
    required: true
"""

EXAMPLES = r"""
- name: Boot a machine from an image
  rackwright.metal.sequence:
    tasks:
      - name: Turn it off
        rackwright.metal.bmc_power:
          state: "off"
          address: https://bmc1.example.com
          username: admin
          password: "{{ bmc_password }}"
      - name: Insert the image
        rackwright.metal.bmc_virtual_media:
          image: https://files.example.com/rescue.iso
          address: https://bmc1.example.com
          username: admin
          password: "{{ bmc_password }}"
"""

RETURN = r"""
results:
  description: What each of the tasks returned, in their order; of those after a failure there is none.
  returned: always
  type: list
  elements: dict
  sample: [{"changed": true, "power_state": "off"}]
"""

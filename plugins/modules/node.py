#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Declare a node of the daemon."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: node
short_description: Declare a bare metal node
version_added: 0.1.0
description:
  - Enrols a node with the daemon, changes it or removes it.
  - Only the fields that are given are compared.
  - Of O(driver_info), O(properties) and O(extra) only the keys that are given are compared.
options:
  name:
    description:
      - Name of the node. It must be unique in the daemon.
    type: str
    required: true
  state:
    description:
      - Whether the node is there. Removing one that is in use is refused by the daemon.
    type: str
    choices: [present, absent]
    default: present
  driver:
    description:
      - Hardware type, such as V(redfish) or V(fake-hardware). Needed to create a node.
    type: str
  driver_info:
    description:
      - How the machine's BMC is reached, and what it boots to be worked on.
    type: dict
  properties:
    description:
      - What is known of the machine, root device hints among it.
    type: dict
  extra:
    description:
      - Anything that you want to keep with the node.
    type: dict
  network_data:
    description:
      - Static network configuration of the agent, in the form of OpenStack's network data.
    type: dict
  resource_class:
    description:
      - Class by which a scheduler chooses the node. Once set it can't be removed.
    type: str
  conductor_group:
    description:
      - Group of conductors that look after the node.
    type: str
  automated_clean:
    description:
      - Whether the node is cleaned by itself. The daemon's own setting holds where this is not given.
    type: bool
  description:
    description:
      - Free text.
    type: str
  owner:
    description:
      - Project that owns the node.
    type: str
  interfaces:
    description:
      - 'Implementation by kind of interface, for example V({boot: redfish-virtual-media}).'
      - Kinds that are not given get the hardware type's default.
    type: dict
  update_secrets:
    description:
      - The API never shows secrets, so a changed password can't be noticed.
      - With V(always) secrets are written each time, and each time reported as a change.
    type: str
    choices: [always, on_create]
    default: on_create
extends_documentation_fragment:
  - rackwright.metal._api
  - rackwright.metal._attributes
author:
  - Rackwright contributors (@rackwright)
"""

EXAMPLES = r"""
- name: Declare a machine behind a Redfish BMC
  rackwright.metal.node:
    name: web-1
    driver: redfish
    driver_info:
      redfish_address: https://bmc-web-1.example.net
      redfish_username: admin
      redfish_password: "{{ vault_bmc_password }}"
      deploy_kernel: https://images.example.net/deploy.kernel
      deploy_ramdisk: https://images.example.net/deploy.initramfs
      bootloader: https://images.example.net/esp.img
    resource_class: baremetal
"""

RETURN = r"""
node:
  description: The node as the API shows it, secrets masked; null where it is absent.
  returned: success
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.rackwright.metal.plugins.module_utils._answers import OPTIONS, attempt


def main() -> None:
    """Answer once."""
    module = AnsibleModule(argument_spec=OPTIONS["node"], supports_check_mode=True)
    answer = attempt("node", module.params, check=module.check_mode, tell=module.log)
    if answer.get("failed"):
        module.fail_json(**answer)
    module.exit_json(**answer)


if __name__ == "__main__":
    main()

#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Declare a port of a node."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: port
short_description: Declare a network port of a node
version_added: 0.1.0
description:
  - Creates, changes or removes a port. The daemon knows a booted machine by the MAC addresses of its ports.
options:
  address:
    description:
      - MAC address, unique in the daemon.
    type: str
    required: true
  node:
    description:
      - Name or UUID of the node that the port belongs to.
    type: str
    required: true
  state:
    description:
      - Whether the port is there.
    type: str
    choices: [present, absent]
    default: present
  pxe_enabled:
    description:
      - Whether the machine may boot from this port.
    type: bool
  physical_network:
    description:
      - Name of the physical network that the port is connected to.
    type: str
  local_link_connection:
    description:
      - Switch and port at the other end of the cable.
    type: dict
  extra:
    description:
      - Anything that you want to keep with the port.
    type: dict
extends_documentation_fragment:
  - rackwright.metal._api
  - rackwright.metal._attributes
author:
  - Rackwright contributors (@rackwright)
"""

EXAMPLES = r"""
- name: Declare the card that web-1 boots from
  rackwright.metal.port:
    node: web-1
    address: 52:54:00:22:00:01
"""

RETURN = r"""
port:
  description: The port as the API shows it; null where it is absent.
  returned: success
  type: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.rackwright.metal.plugins.module_utils._answers import OPTIONS, attempt


def main() -> None:
    """Answer once."""
    module = AnsibleModule(argument_spec=OPTIONS["port"], supports_check_mode=True)
    answer = attempt("port", module.params, check=module.check_mode, tell=module.log)
    if answer.get("failed"):
        module.fail_json(**answer)
    module.exit_json(**answer)


if __name__ == "__main__":
    main()

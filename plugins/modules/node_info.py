#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Show nodes of the daemon."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: node_info
short_description: Show bare metal nodes
version_added: 0.1.0
description:
  - Reads one node, or all of them, page after page.
options:
  name:
    description:
      - Name or UUID of one node. All nodes are read where it is not given.
    type: str
  fields:
    description:
      - Fields to read of each node when all are read; all fields where this is not given.
    type: list
    elements: str
extends_documentation_fragment:
  - rackwright.metal._api
  - rackwright.metal._attributes
attributes:
  diff_mode:
    description: Nothing changes, so there is nothing to show.
    support: none
author:
  - Rackwright contributors (@rackwright)
"""

EXAMPLES = r"""
- name: Read the states of all nodes
  rackwright.metal.node_info:
    fields: [name, provision_state, power_state, last_error]
  register: nodes
"""

RETURN = r"""
nodes:
  description: The nodes; empty where the named one does not exist.
  returned: success
  type: list
  elements: dict
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.rackwright.metal.plugins.module_utils._answers import OPTIONS, attempt


def main() -> None:
    """Answer once."""
    module = AnsibleModule(argument_spec=OPTIONS["node_info"], supports_check_mode=True)
    answer = attempt("node_info", module.params, check=module.check_mode, tell=module.log)
    if answer.get("failed"):
        module.fail_json(**answer)
    module.exit_json(**answer)


if __name__ == "__main__":
    main()

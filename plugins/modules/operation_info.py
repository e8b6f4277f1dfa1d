#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Show the operations of a node."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: operation_info
short_description: Show the operations of a bare metal node, and where their time went
version_added: 0.1.0
description:
  - Reads what was asked of a node, how it ended, and which step ran or waited when.
  - The daemon of this collection tells this; other servers of the Ironic API do not.
options:
  node:
    description:
      - Name or UUID of the node.
    type: str
    required: true
  moments:
    description:
      - Further moments, such as what a serial console said, that cut the waits into parts.
      - Each has C(at) in seconds since 1970 and C(mark), what begins then.
    type: list
    elements: dict
    default: []
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
- name: Read where the time went
  rackwright.metal.operation_info:
    node: web-1
  register: operations

- name: Show it
  ansible.builtin.debug:
    msg: "{{ operations.table }}"
"""

RETURN = r"""
operations:
  description: The operations of the node, oldest first.
  returned: success
  type: list
  elements: dict
table:
  description: Lines with start and length in seconds, phase, step and what the node did.
  returned: success
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.rackwright.metal.plugins.module_utils._answers import OPTIONS, attempt


def main() -> None:
    """Answer once."""
    module = AnsibleModule(argument_spec=OPTIONS["operation_info"], supports_check_mode=True)
    answer = attempt("operation_info", module.params, check=module.check_mode, tell=module.log)
    if answer.get("failed"):
        module.fail_json(**answer)
    module.exit_json(**answer)


if __name__ == "__main__":
    main()

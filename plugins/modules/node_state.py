#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring nodes to their declared states."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: node_state
short_description: Bring bare metal nodes to their declared states
version_added: 0.1.0
description:
  - Sends each node the verbs that lead from its present state to the wanted one, and waits for them.
  - All nodes go at the same time; one that fails does not hold up the others. Each change of state or step is shown.
  - A node that fails does not fail the task. Its entry in RV(results_by_node) is failed and says why; see the example.
options:
  nodes:
    description:
      - The nodes and the state of each.
    type: list
    elements: dict
    required: true
    suboptions:
      node:
        description:
          - Name of the node.
        type: str
        required: true
      state:
        description:
          - State to reach.
        type: str
        required: true
        choices: [manageable, available, active]
      instance_info:
        description:
          - What is deployed, such as C(image_source) and C(image_os_hash_value). Needed for V(active).
        type: dict
        default: {}
      config_drive:
        description:
          - The config drive, as text (base64 of a gzip-compressed ISO image), as a URL, or as an object with
            C(meta_data), C(user_data), C(network_data) and C(vendor_data).
          - It is used when the node is deployed; a later change of it alone is not noticed.
        type: raw
      inspect:
        description:
          - Whether a node that was never inspected is inspected on its way.
        type: bool
        default: true
      allow_undeploy:
        description:
          - Whether a deployed node may be undeployed, which erases its disks, to reach the state.
        type: bool
        default: false
      allow_rebuild:
        description:
          - Whether a deployed node may be deployed anew when O(nodes[].instance_info) differs from what it has.
        type: bool
        default: false
      running:
        description:
          - What to do with a machine that is on while the daemon knows no more of it than that, as it is with all of
            them after the loss of the daemon's database.
          - V(hold) leaves it alone and reports it as failed.
          - V(adopt) takes it over as V(active), with O(nodes[].instance_info), if that is what
            O(nodes[].state) says and no medium is in its virtual drives. Neither its power nor what it boots is
            touched. Other machines that are on are left alone.
          - V(erase) goes on as if it were off, so that it is inspected, cleaned and deployed.
        type: str
        choices: [hold, adopt, erase]
        default: hold
  timeout:
    description:
      - Seconds after which nodes that are still on their way are reported as failed. The daemon goes on with them.
    type: int
    default: 7200
extends_documentation_fragment:
  - rackwright.metal._api
  - rackwright.metal._attributes
author:
  - Rackwright contributors (@rackwright)
"""

EXAMPLES = r"""
- name: Bring all hosts of the play to their states
  rackwright.metal.node_state:
    nodes: "{{ ansible_play_hosts | map('extract', hostvars, 'node_goal') | list }}"
  run_once: true
  register: outcome

- name: Show the failure where the host is
  ansible.builtin.assert:
    that: not outcome.results_by_node[node_goal.node].failed
    fail_msg: "{{ outcome.results_by_node[node_goal.node].msg }}"
"""

RETURN = r"""
results_by_node:
  description: The outcome of each node by its name.
  returned: success
  type: dict
  contains:
    failed:
      description: Whether the node did not reach its state.
      type: bool
    msg:
      description: Where the node is, or what failed, why, and what to do next.
      type: str
    provision_state:
      description: State at the end.
      type: str
    uuid:
      description: UUID of the node; null where it does not exist yet.
      type: str
    verbs:
      description: The verbs that were sent, in check mode those that would be.
      type: list
      elements: str
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.rackwright.metal.plugins.module_utils._answers import OPTIONS, attempt


def main() -> None:
    """Answer once."""
    module = AnsibleModule(argument_spec=OPTIONS["node_state"], supports_check_mode=True)
    answer = attempt("node_state", module.params, check=module.check_mode, tell=module.log)
    if answer.get("failed"):
        module.fail_json(**answer)
    module.exit_json(**answer)


if __name__ == "__main__":
    main()

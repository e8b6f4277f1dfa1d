#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: agent_presence
short_description: See whether an agent runs on a machine
version_added: 0.1.0
author: Rackwright contributors (@rackwright)
description:
  - Asks the agent (ironic-python-agent) of a machine for its status.
  - In a run of the Rackwright daemon it decides whether the machine has to be booted. The step that it begins is
    done where the agent answers, and waits where the machine is on with the agent's image inserted.
attributes:
  check_mode:
    support: full
    description: Says what would change, and changes nothing.
  diff_mode:
    support: none
    description: Shows what changes.
options:
  url:
    description:
      - Address of the agent, as in V(https://192.0.2.17:9999).
    type: str
  ca:
    description:
      - Certificate of the agent, as PEM text. Without it the agent's certificate must be one that this host trusts.
    type: str
  timeout:
    description:
      - Seconds to wait for each answer.
    type: int
    default: 10
"""

EXAMPLES = r"""
- name: See whether the agent answers
  rackwright.metal.agent_presence:
    url: https://192.0.2.17:9999
    ca: "{{ lookup('ansible.builtin.file', 'agent.pem') }}"
  register: agent
"""

RETURN = r"""
answers:
  description: Whether the agent answers.
  returned: success
  type: bool
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.plugins.module_utils._presence import ARGUMENTS, answers


def main() -> None:
    """Tell whether the agent answers."""
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    try:
        module.exit_json(changed=False, answers=bool(module.params["url"]) and answers(module.params))
    except OperationError as error:
        module.fail_json(msg=str(error))


if __name__ == "__main__":
    main()

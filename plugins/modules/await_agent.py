#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: await_agent
short_description: Wait until an agent runs on a machine
version_added: 0.1.0
author: Rackwright contributors (@rackwright)
description:
  - Asks the agent (ironic-python-agent) of a machine for its status, until it answers.
  - In a run of the Rackwright daemon nothing is asked. The node leaves the run until its agent's heartbeat.
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
  wait:
    description:
      - Seconds to wait until the agent answers.
    type: int
    default: 600
"""

EXAMPLES = r"""
- name: Wait for the agent
  rackwright.metal.await_agent:
    url: http://192.0.2.17:9999
    wait: 300
"""

RETURN = r"""
answers:
  description: Whether the agent answers, which is true.
  returned: success
  type: bool
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.plugins.module_utils._presence import AWAIT_ARGUMENTS, await_answer


def main() -> None:
    """Wait for the agent."""
    module = AnsibleModule(AWAIT_ARGUMENTS, supports_check_mode=True)
    try:
        await_answer(module.params, check=module.check_mode)
    except OperationError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=False, answers=True)


if __name__ == "__main__":
    main()

#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: agent_command
short_description: Run a command of the agent
version_added: 0.1.0
author: Rackwright contributors (@rackwright)
description:
  - Sends one command to ironic-python-agent and waits for its end.
  - In a run of the Rackwright daemon nothing is waited for, and a command that was sent is not sent again. There with
    O(best_effort=true) its end does not matter either.
extends_documentation_fragment:
  - rackwright.metal._agent
options:
  name:
    description:
      - Name of the command with its extension, such as V(standby.sync).
    type: str
    required: true
  parameters:
    description:
      - Parameters of the command.
    type: dict
    default: {}
  best_effort:
    description:
      - Whether a failure is only a warning.
    type: bool
    default: false
  wait_timeout:
    description:
      - Seconds to wait for the end of it.
    type: int
    default: 3600
"""

EXAMPLES = r"""
- name: Write everything to the disks
  rackwright.metal.agent_command:
    url: "{{ agent_url }}"
    token: "{{ agent_token }}"
    ca: "{{ agent_certificate }}"
    name: standby.sync
"""

RETURN = r"""
result:
  description: What the command returned.
  returned: when it ended well, and not in check mode
  type: dict
  sample: {}
"""

from ansible_collections.rackwright.metal.plugins.module_utils._agent_work import OPTIONS, WORK
from ansible_collections.rackwright.metal.plugins.module_utils._operation import run_module


def main() -> None:
    """Send the command and wait."""
    run_module(OPTIONS["agent_command"], WORK["agent_command"])


if __name__ == "__main__":
    main()

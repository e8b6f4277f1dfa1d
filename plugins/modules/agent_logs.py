#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: agent_logs
short_description: Save the logs of the agent
version_added: 0.1.0
author: Rackwright contributors (@rackwright)
description:
  - Fetches the logs of the deploy ramdisk from ironic-python-agent as a compressed archive, readable for the owner
    alone.
extends_documentation_fragment:
  - rackwright.metal._agent
options:
  dest:
    description:
      - Folder for the archive. It is made where it is missing.
    type: path
  label:
    description:
      - Start of the archive's name. Letters that do not belong into a file name become dashes.
    type: str
    default: agent
  best_effort:
    description:
      - Whether a failure is only a warning.
    type: bool
    default: false
"""

EXAMPLES = r"""
- name: Save the logs
  rackwright.metal.agent_logs:
    url: "{{ agent_url }}"
    token: "{{ agent_token }}"
    ca: "{{ agent_certificate }}"
    dest: /var/log/deploy
    label: "{{ inventory_hostname }}"
    best_effort: true
"""

RETURN = r"""
path:
  description: The archive.
  returned: when it was written
  type: str
  sample: /var/log/deploy/web-1_2026-01-01-12-00-00.tar.gz
"""

from ansible_collections.rackwright.metal.plugins.module_utils._agent_work import OPTIONS, WORK
from ansible_collections.rackwright.metal.plugins.module_utils._operation import run_module


def main() -> None:
    """Fetch the logs and save them."""
    run_module(OPTIONS["agent_logs"], WORK["agent_logs"])


if __name__ == "__main__":
    main()

#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: agent_bootloader
short_description: Make the firmware boot what was written to the disk
version_added: 0.1.0
author: Rackwright contributors (@rackwright)
description:
  - Lets ironic-python-agent make the firmware's boot entry for the image that it wrote. A machine that boots in BIOS
    mode needs none.
extends_documentation_fragment:
  - rackwright.metal._agent
options:
  boot_mode:
    description:
      - The machine's boot mode.
    type: str
    choices: [uefi, bios]
    default: uefi
  wait_timeout:
    description:
      - Seconds to wait for the end of it.
    type: int
    default: 600
"""

EXAMPLES = r"""
- name: Make the boot entry
  rackwright.metal.agent_bootloader:
    url: "{{ agent_url }}"
    token: "{{ agent_token }}"
    ca: "{{ agent_certificate }}"
"""

RETURN = r"""
{}
"""

from ansible_collections.rackwright.metal.plugins.module_utils._agent_work import OPTIONS, WORK
from ansible_collections.rackwright.metal.plugins.module_utils._operation import run_module


def main() -> None:
    """Install the boot loader and wait."""
    run_module(OPTIONS["agent_bootloader"], WORK["agent_bootloader"])


if __name__ == "__main__":
    main()

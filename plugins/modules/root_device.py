#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: root_device
short_description: Choose the disk that an image goes to
version_added: 0.1.0
author: Rackwright contributors (@rackwright)
description:
  - Asks ironic-python-agent for the machine's disks and chooses one by root device hints.
  - Hints that fit no disk, or more than one, are an error that lists the disks. Without hints it is the smallest disk
    of at least 4 GiB.
extends_documentation_fragment:
  - rackwright.metal._agent
options:
  hints:
    description:
      - Root device hints. All must fit. C(size) is in GiB.
    type: dict
    default: {}
  skip_block_devices:
    description:
      - Hints for disks that must not be chosen.
    type: list
    elements: dict
    default: []
"""

EXAMPLES = r"""
- name: Choose the disk
  rackwright.metal.root_device:
    url: "{{ agent_url }}"
    token: "{{ agent_token }}"
    ca: "{{ agent_certificate }}"
    hints: {serial: S3Z9NX0M}
  register: chosen
"""

RETURN = r"""
root_device:
  description: The disk, its size in bytes, and a hint that fits no other disk of the machine.
  returned: success
  type: dict
  sample: {name: /dev/sda, size: 10737418240, serial: S3Z9NX0M, hint: {serial: s== S3Z9NX0M}}
"""

from ansible_collections.rackwright.metal.plugins.module_utils._agent_work import OPTIONS, WORK
from ansible_collections.rackwright.metal.plugins.module_utils._operation import run_module


def main() -> None:
    """Choose the disk, and tell it."""
    run_module(OPTIONS["root_device"], WORK["root_device"])


if __name__ == "__main__":
    main()

#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: bmc_virtual_media
short_description: Put an image into a virtual drive of a machine
version_added: 0.1.0
author: Rackwright contributors (@rackwright)
description:
  - Inserts an image into a virtual drive that a BMC offers to its machine, or ejects it.
  - The BMC itself reads the image, so it must be able to reach its URL.
  - Ejecting does not look at the power state. Turn a machine off before, if it runs from the image.
extends_documentation_fragment:
  - rackwright.metal._attributes
  - rackwright.metal._bmc
options:
  state:
    description:
      - V(present) inserts O(image), and ejects another one before. V(absent) empties the drives.
    type: str
    choices: [present, absent]
    default: present
  image:
    description:
      - URL of the image. Required when O(state=present).
    type: str
  devices:
    description:
      - The kinds of drives to use; V(disk) is a USB stick. An image goes into one of them, and the others are emptied.
    type: list
    elements: str
    choices: [cdrom, disk, floppy]
    default: [cdrom]
seealso:
  - module: rackwright.metal.bmc_boot_device
  - module: rackwright.metal.bmc_boot_mode
  - module: rackwright.metal.bmc_info
  - module: rackwright.metal.bmc_power
"""

EXAMPLES = r"""
- name: Insert an image
  rackwright.metal.bmc_virtual_media:
    address: https://bmc-17.example.com
    username: admin
    password: "{{ vault_bmc_password }}"
    image: http://files.example.com/rescue.iso

- name: Empty the drive
  rackwright.metal.bmc_virtual_media:
    address: https://bmc-17.example.com
    username: admin
    password: "{{ vault_bmc_password }}"
    state: absent
"""

RETURN = r"""
image:
  description: URL of the image that is inserted, null when the drives are empty.
  returned: success
  type: str
  sample: http://files.example.com/rescue.iso
"""

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.operations import (
    MEDIA_ARGUMENTS,
    MEDIA_RULES,
    set_media,
)
from ansible_collections.rackwright.metal.plugins.module_utils._module import BmcModule


def main() -> None:
    """Fill or empty the virtual drives."""
    module = BmcModule(MEDIA_ARGUMENTS, **MEDIA_RULES)
    with module.bmc() as bmc:
        change = set_media(bmc, module.params, check=module.check_mode)
    module.exit_change(change)


if __name__ == "__main__":
    main()

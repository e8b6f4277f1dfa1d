#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: bmc_boot_device
short_description: Choose what a machine boots from
version_added: 0.1.0
author: Rackwright contributors (@rackwright)
description:
  - Sets the device that a machine boots from next time, or each time, through its BMC.
  - Finds out where and in which form this BMC takes it, and reads it back.
extends_documentation_fragment:
  - rackwright.metal._attributes
  - rackwright.metal._bmc
options:
  device:
    description:
      - The device to boot from. V(bios) is the setup program, V(safe) a diagnostic system.
    type: str
    choices: [pxe, disk, cdrom, usb, floppy, bios, uefihttp, safe]
    required: true
  persistent:
    description:
      - Whether the machine is to boot from it each time, and not only once.
    type: bool
    default: false
seealso:
  - module: rackwright.metal.bmc_boot_mode
  - module: rackwright.metal.bmc_info
  - module: rackwright.metal.bmc_power
  - module: rackwright.metal.bmc_virtual_media
"""

EXAMPLES = r"""
- name: Boot from the network next time
  rackwright.metal.bmc_boot_device:
    address: https://bmc-17.example.com
    username: admin
    password: "{{ vault_bmc_password }}"
    device: pxe
"""

RETURN = r"""
device:
  description: The device that the machine boots from.
  returned: success
  type: str
  sample: pxe
persistent:
  description: Whether it does so each time.
  returned: success
  type: bool
"""

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.operations import (
    BOOT_DEVICE_ARGUMENTS,
    set_boot_device,
)
from ansible_collections.rackwright.metal.plugins.module_utils._module import BmcModule


def main() -> None:
    """Choose the boot device."""
    module = BmcModule(BOOT_DEVICE_ARGUMENTS)
    with module.bmc() as bmc:
        change = set_boot_device(bmc, module.params, check=module.check_mode)
    module.exit_change(change)


if __name__ == "__main__":
    main()

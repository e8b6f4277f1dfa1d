#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: bmc_boot_mode
short_description: Choose the mode that a machine boots in
version_added: 0.1.0
author: Rackwright contributors (@rackwright)
description:
  - Sets whether the firmware of a machine boots in UEFI or in BIOS (legacy) mode, through its BMC.
  - The boot device that is chosen stays as it is.
extends_documentation_fragment:
  - rackwright.metal._attributes
  - rackwright.metal._bmc
options:
  mode:
    description:
      - The mode to boot in from the next time on.
    type: str
    choices: [uefi, bios]
    required: true
seealso:
  - module: rackwright.metal.bmc_boot_device
  - module: rackwright.metal.bmc_info
  - module: rackwright.metal.bmc_power
  - module: rackwright.metal.bmc_virtual_media
"""

EXAMPLES = r"""
- name: Boot in UEFI mode
  rackwright.metal.bmc_boot_mode:
    address: https://bmc-17.example.com
    username: admin
    password: "{{ vault_bmc_password }}"
    mode: uefi
"""

RETURN = r"""
mode:
  description: The mode that the machine boots in.
  returned: success
  type: str
  sample: uefi
"""

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.operations import BOOT_MODE_ARGUMENTS, set_boot_mode
from ansible_collections.rackwright.metal.plugins.module_utils._module import BmcModule


def main() -> None:
    """Choose the boot mode."""
    module = BmcModule(BOOT_MODE_ARGUMENTS)
    with module.bmc() as bmc:
        change = set_boot_mode(bmc, module.params, check=module.check_mode)
    module.exit_change(change)


if __name__ == "__main__":
    main()

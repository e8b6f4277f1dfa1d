#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: bmc_secure_boot
short_description: Choose whether a machine boots signed software only
version_added: 0.1.0
author: Rackwright contributors (@rackwright)
description:
  - Switches secure boot of a machine on or off, through its BMC, from the next boot on.
  - Where the BMC does not show the change before the next boot, the module says so in a warning.
extends_documentation_fragment:
  - rackwright.metal._attributes
  - rackwright.metal._bmc
options:
  enabled:
    description:
      - Whether the machine is to boot signed software only.
    type: bool
    required: true
seealso:
  - module: rackwright.metal.bmc_boot_mode
  - module: rackwright.metal.bmc_info
  - module: rackwright.metal.bmc_power
"""

EXAMPLES = r"""
- name: Boot signed software only
  rackwright.metal.bmc_secure_boot:
    address: https://bmc-17.example.com
    username: admin
    password: "{{ vault_bmc_password }}"
    enabled: true
"""

RETURN = r"""
enabled:
  description: Whether the machine boots signed software only from the next time on.
  returned: success
  type: bool
  sample: true
"""

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.operations import (
    SECURE_BOOT_ARGUMENTS,
    set_secure_boot,
)
from ansible_collections.rackwright.metal.plugins.module_utils._module import BmcModule


def main() -> None:
    """Switch secure boot."""
    module = BmcModule(SECURE_BOOT_ARGUMENTS)
    with module.bmc() as bmc:
        change = set_secure_boot(bmc, module.params, check=module.check_mode)
    module.exit_change(change)


if __name__ == "__main__":
    main()

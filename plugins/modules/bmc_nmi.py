#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: bmc_nmi
short_description: Interrupt a machine that hangs
version_added: 0.1.0
author: Rackwright contributors (@rackwright)
description:
  - Sends a non-maskable interrupt to a machine, through its BMC. Many operating systems write a dump then, and stop.
  - Nothing tells whether the machine was interrupted before, so the module always reports a change.
attributes:
  check_mode:
    support: full
    description: Says what would change, and changes nothing.
  diff_mode:
    support: none
    description: Shows what changes.
extends_documentation_fragment:
  - rackwright.metal._bmc
seealso:
  - module: rackwright.metal.bmc_boot_mode
  - module: rackwright.metal.bmc_info
  - module: rackwright.metal.bmc_power
"""

EXAMPLES = r"""
- name: Make the operating system write a dump
  rackwright.metal.bmc_nmi:
    address: https://bmc-17.example.com
    username: admin
    password: "{{ vault_bmc_password }}"
"""

RETURN = r"""
# Nothing but what all modules return.
"""

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.operations import interrupt
from ansible_collections.rackwright.metal.plugins.module_utils._module import BmcModule


def main() -> None:
    """Interrupt the machine."""
    module = BmcModule({})
    with module.bmc() as bmc:
        change = interrupt(bmc, module.params, check=module.check_mode)
    module.exit_change(change)


if __name__ == "__main__":
    main()

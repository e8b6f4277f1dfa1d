#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: bmc_indicator
short_description: Switch a light of a machine, so that people find it
version_added: 0.1.0
author: Rackwright contributors (@rackwright)
description:
  - Brings an indicator of a system or of its chassis into a state, through its BMC, and reads it back.
  - M(rackwright.metal.bmc_info) lists the indicators of a machine.
extends_documentation_fragment:
  - rackwright.metal._attributes
  - rackwright.metal._bmc
options:
  name:
    description:
      - Name of the indicator.
    type: str
    required: true
  component:
    description:
      - What the indicator is on.
    type: str
    choices: [system, chassis]
    default: system
  state:
    description:
      - The state that it is to have. Not every indicator can blink.
    type: str
    choices: ["on", "off", blinking]
    required: true
seealso:
  - module: rackwright.metal.bmc_boot_mode
  - module: rackwright.metal.bmc_info
  - module: rackwright.metal.bmc_power
"""

EXAMPLES = r"""
- name: Let the light of the chassis blink
  rackwright.metal.bmc_indicator:
    address: https://bmc-17.example.com
    username: admin
    password: "{{ vault_bmc_password }}"
    name: "1"
    component: chassis
    state: blinking
"""

RETURN = r"""
state:
  description: The state of the indicator.
  returned: success
  type: str
  sample: blinking
"""

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.operations import INDICATOR_ARGUMENTS, set_indicator
from ansible_collections.rackwright.metal.plugins.module_utils._module import BmcModule


def main() -> None:
    """Switch a light."""
    module = BmcModule(INDICATOR_ARGUMENTS)
    with module.bmc() as bmc:
        change = set_indicator(bmc, module.params, check=module.check_mode)
    module.exit_change(change)


if __name__ == "__main__":
    main()

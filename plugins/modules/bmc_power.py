#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: bmc_power
short_description: Turn a machine on or off through its BMC
version_added: 0.1.0
author: Rackwright contributors (@rackwright)
description:
  - Brings a machine to a power state, and waits until its BMC says that it is reached.
  - Nothing is done when the machine is in that state already.
extends_documentation_fragment:
  - rackwright.metal._attributes
  - rackwright.metal._bmc
options:
  state:
    description:
      - V(on) and V(off) are done at once; V(off) cuts the power.
      - V(soft_off) asks the operating system to shut down. The power is cut where the BMC cannot ask, and when
        the system is still running after O(timeout).
      - V(reboot) and V(soft_reboot) always change something; a machine that is off is turned on.
    type: str
    choices: ["on", "off", reboot, soft_off, soft_reboot]
    required: true
  timeout:
    description:
      - Seconds to wait for the state. 60 when it is not given, or 600 for the soft forms.
    type: int
seealso:
  - module: rackwright.metal.bmc_boot_device
  - module: rackwright.metal.bmc_boot_mode
  - module: rackwright.metal.bmc_info
  - module: rackwright.metal.bmc_virtual_media
"""

EXAMPLES = r"""
- name: Turn the machine on
  rackwright.metal.bmc_power:
    address: https://bmc-17.example.com
    username: admin
    password: "{{ vault_bmc_password }}"
    state: "on"

- name: Shut the machine down, and cut the power if it does not obey within two minutes
  rackwright.metal.bmc_power:
    address: https://bmc-17.example.com
    username: admin
    password: "{{ vault_bmc_password }}"
    state: soft_off
    timeout: 120
"""

RETURN = r"""
power_state:
  description: The power state that was reached, V(on) or V(off).
  returned: success
  type: str
  sample: "on"
"""

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.operations import POWER_ARGUMENTS, set_power
from ansible_collections.rackwright.metal.plugins.module_utils._module import BmcModule


def main() -> None:
    """Bring the machine to the power state."""
    module = BmcModule(POWER_ARGUMENTS)
    with module.bmc() as bmc:
        change = set_power(bmc, module.params, check=module.check_mode)
    module.exit_change(change)


if __name__ == "__main__":
    main()

#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: bmc_info
short_description: Read what a BMC tells of its machine
version_added: 0.1.0
author: Rackwright contributors (@rackwright)
description:
  - Reads power state, health, identity, boot settings, virtual media and network ports of a machine. Changes nothing.
extends_documentation_fragment:
  - rackwright.metal._attributes
  - rackwright.metal._bmc
options:
  gather:
    description:
      - What to read. Each of them takes one request or more, so ask for what is needed.
    type: list
    elements: str
    choices: [power, health, system, boot, secure_boot, media, network, drives, indicators]
    default: [power, health, system, boot, secure_boot, media, network]
seealso:
  - module: rackwright.metal.bmc_boot_device
  - module: rackwright.metal.bmc_boot_mode
  - module: rackwright.metal.bmc_power
  - module: rackwright.metal.bmc_virtual_media
"""

EXAMPLES = r"""
- name: Read the power state
  rackwright.metal.bmc_info:
    address: https://bmc-17.example.com
    username: admin
    password: "{{ vault_bmc_password }}"
    gather: [power]
  register: bmc
"""

RETURN = r"""
power_state:
  description: V(on), V(off) or V(unknown).
  returned: when O(gather) holds V(power)
  type: str
  sample: "on"
health:
  description: V(OK), V(Warning) or V(Critical) for the machine with its parts, null when the BMC does not tell.
  returned: when O(gather) holds V(health)
  type: str
  sample: OK
system:
  description: What the machine is.
  returned: when O(gather) holds V(system)
  type: dict
  contains:
    manufacturer:
      description: Who made it.
      type: str
    model:
      description: Its model.
      type: str
    serial:
      description: Its serial number.
      type: str
    bios_version:
      description: The version of its firmware.
      type: str
    uuid:
      description: Its system UUID.
      type: str
boot:
  description: What the machine boots from next.
  returned: when O(gather) holds V(boot)
  type: dict
  contains:
    device:
      description: The device that was chosen, null when none was.
      type: str
    persistent:
      description: Whether it is used each time.
      type: bool
    mode:
      description: V(uefi) or V(bios), null when the BMC does not tell.
      type: str
    supported:
      description: The devices that can be chosen.
      type: list
      elements: str
secure_boot:
  description: Whether the machine boots signed software only, null when the BMC does not tell.
  returned: when O(gather) holds V(secure_boot)
  type: bool
media:
  description: What is in the virtual CD drive.
  returned: when O(gather) holds V(media)
  type: dict
  contains:
    image:
      description: URL of the image, null when the drive is empty.
      type: str
macs:
  description: MAC addresses of the network ports, as far as the BMC knows them.
  returned: when O(gather) holds V(network)
  type: list
  elements: str
drives:
  description: The virtual drives.
  returned: when O(gather) holds V(drives)
  type: list
  elements: dict
  contains:
    name:
      description: How the BMC calls it.
      type: str
    device_types:
      description: The kinds of devices that it can be.
      type: list
      elements: str
    inserted:
      description: Whether an image is in it.
      type: bool
    image:
      description: The image as the BMC shows it, null when the drive is empty.
      type: str
indicators:
  description: The lights of the system and of its chassis.
  returned: when O(gather) holds V(indicators)
  type: list
  elements: dict
  contains:
    name:
      description: How the BMC calls what it is on.
      type: str
    component:
      description: V(system) or V(chassis).
      type: str
    state:
      description: V(on), V(off), V(blinking) or V(unknown).
      type: str
    states:
      description: The states that it can have.
      type: list
      elements: str
    readonly:
      description: Whether nobody can switch it.
      type: bool
"""

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.operations import INFO_ARGUMENTS, read_info
from ansible_collections.rackwright.metal.plugins.module_utils._module import BmcModule


def main() -> None:
    """Read what is asked for."""
    module = BmcModule(INFO_ARGUMENTS)
    with module.bmc() as bmc:
        change = read_info(bmc, module.params, check=module.check_mode)
    module.exit_change(change)


if __name__ == "__main__":
    main()

#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: boot_iso
short_description: Build the image that a machine boots the agent from
version_added: 0.1.0
author: Rackwright contributors (@rackwright)
description:
  - Builds an ISO image for virtual media out of kernel, ramdisk and bootloader, with parameters for the kernel.
  - The image boots in UEFI mode.
  - In a run of the Rackwright daemon all options come from the daemon.
attributes:
  check_mode:
    support: full
    description: Says what would change, and changes nothing.
  diff_mode:
    support: none
    description: Shows what changes.
requirements:
  - pycdlib
options:
  state:
    description:
      - Whether the image is to be there.
    type: str
    choices: [present, absent]
    default: present
  file:
    description:
      - Path of the image.
    type: path
    required: true
  cache:
    description:
      - Folder in which downloaded files are kept. Required when O(state=present).
    type: path
  kernel:
    description:
      - URL (http, https or file) of the kernel.
    type: str
  ramdisk:
    description:
      - URL of the ramdisk.
    type: str
  bootloader:
    description:
      - URL of an image of an EFI system partition, whose GRUB goes on with C(EFI/BOOT/grub.cfg) of the disc.
    type: str
  iso:
    description:
      - URL of a ready ISO image, to be taken as it is instead of the other three.
    type: str
  parameters:
    description:
      - Parameters for the kernel. Quotes, backslashes and control characters cannot be passed and are an error.
    type: dict
    default: {}
  append:
    description:
      - Further words for the kernel's command line. Quotes hold a word with blanks together.
    type: str
  mode:
    description:
      - The mode in which the machine boots.
    type: str
    choices: [uefi, bios]
    default: uefi
  allowed_paths:
    description:
      - Folders in which files of file URLs have to lie. They may lie anywhere when it is not given.
    type: list
    elements: path
"""

EXAMPLES = r"""
- name: Build an image that boots the agent
  rackwright.metal.boot_iso:
    file: /srv/http/boot/rack-17.iso
    cache: /var/cache/rackwright
    kernel: https://images.example.com/ipa.kernel
    ramdisk: https://images.example.com/ipa.initramfs
    bootloader: file:///usr/share/rackwright/esp.img
    parameters:
      ipa-api-url: http://192.0.2.1:6385
"""

RETURN = r"""
file:
  description: Path of the image.
  returned: success
  type: str
  sample: /srv/http/boot/rack-17.iso
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.rackwright.metal.plugins.module_utils._boot_iso import ARGUMENTS, RULES, make
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError


def main() -> None:
    """Build the image, or remove it."""
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True, **RULES)
    try:
        changed = make(module.params, check=module.check_mode)
    except OperationError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=changed, file=module.params["file"])


if __name__ == "__main__":
    main()

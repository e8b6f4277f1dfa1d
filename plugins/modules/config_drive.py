#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: config_drive
short_description: Make a config drive
version_added: 0.1.0
author: Rackwright contributors (@rackwright)
description:
  - Makes the small disk from which cloud-init learns names, users and networks.
  - It is an ISO image with the label C(config-2), compressed with gzip, as base64 text. The API takes it as
    C(configdrive), and so does M(rackwright.metal.agent_image).
attributes:
  check_mode:
    support: full
    description: Says whether something would change, and changes nothing.
  diff_mode:
    support: none
    description: Shows what changes.
options:
  dest:
    description:
      - File for the text, readable for the owner alone. Without it the parts are only checked.
    type: path
  meta_data:
    description:
      - Metadata. It gets O(uuid) and O(name) where it has none of its own.
    type: dict
  user_data:
    description:
      - User data, such as C(#cloud-config) text.
    type: str
  network_data:
    description:
      - Network data. A link's MTU that is null is left out.
    type: dict
  vendor_data:
    description:
      - Vendor data.
    type: dict
  uuid:
    description:
      - UUID of the node or instance.
    type: str
  name:
    description:
      - Name of the node or instance.
    type: str
"""

EXAMPLES = r"""
- name: Make a config drive
  rackwright.metal.config_drive:
    dest: /var/tmp/web-1.configdrive
    meta_data:
      hostname: web-1
    user_data: |
      #cloud-config
      package_update: true
"""

RETURN = r"""
size:
  description: Length of the text in bytes.
  returned: success
  type: int
  sample: 1520
"""

from ansible_collections.rackwright.metal.plugins.module_utils._image_work import DRIVE_OPTIONS, config_drive
from ansible_collections.rackwright.metal.plugins.module_utils._operation import run_module


def main() -> None:
    """Make the drive, and write it."""
    run_module(DRIVE_OPTIONS, config_drive)


if __name__ == "__main__":
    main()

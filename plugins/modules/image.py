#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: image
short_description: Check an instance image and make it ready for the agent
version_added: 0.1.0
author: Rackwright contributors (@rackwright)
description:
  - Finds out what an image is by its first bytes, whether it is what it is said to be, how large its disk is, and its
    checksum.
  - An image behind http or https is downloaded by the agent itself. A C(file://) image is checked whole and offered
    at O(dest), as a hard link where possible.
  - Redirects are followed, but neither from https to http nor in circles.
attributes:
  check_mode:
    support: full
    description: Says whether something would change, and changes nothing.
  diff_mode:
    support: none
    description: Shows what changes.
options:
  state:
    description:
      - V(present) checks the image and offers a file, V(absent) removes what is at O(dest).
    type: str
    choices: [present, absent]
    default: present
  source:
    description:
      - URL of the image, http, https or file. User and password in it go to its own host only.
    type: str
  disk_format:
    description:
      - What the image is said to be, C(raw), C(qcow2) or C(iso).
    type: str
  checksum:
    description:
      - SHA-256, SHA-384 or SHA-512 of the image in hexadecimal, or the URL of a file of checksums of GNU or BSD form.
    type: str
  os_hash_algo:
    description:
      - Algorithm of O(os_hash_value).
    type: str
  os_hash_value:
    description:
      - As O(checksum), and used before it.
    type: str
  allowed_paths:
    description:
      - Folders that file images may come from.
    type: list
    elements: path
    default: []
  dest:
    description:
      - Where a file image is offered. Choose a name that nobody can guess.
    type: path
  dest_url:
    description:
      - URL of O(dest) for the agent.
    type: str
"""

EXAMPLES = r"""
- name: Check the image
  rackwright.metal.image:
    source: https://images.example.com/os.qcow2
    checksum: https://images.example.com/SHA256SUMS
  register: checked
"""

RETURN = r"""
image:
  description: What the image is; sizes in bytes.
  returned: when O(state=present)
  type: dict
  sample: {id: os.qcow2, disk_format: qcow2, os_hash_algo: sha256, size: 524288000, virtual_size: 10737418240}
url:
  description: Where the agent gets it.
  returned: when O(state=present)
  type: str
  sample: https://images.example.com/os.qcow2
"""

from ansible_collections.rackwright.metal.plugins.module_utils._image import IMAGE_OPTIONS
from ansible_collections.rackwright.metal.plugins.module_utils._image_work import image
from ansible_collections.rackwright.metal.plugins.module_utils._operation import run_module


def main() -> None:
    """Check the image, or take it away."""
    run_module(IMAGE_OPTIONS, image)


if __name__ == "__main__":
    main()

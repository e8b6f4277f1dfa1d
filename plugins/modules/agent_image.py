#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: agent_image
short_description: Write an image to a disk of a machine
version_added: 0.1.0
author: Rackwright contributors (@rackwright)
description:
  - Lets ironic-python-agent download a whole-disk image, write it to the root device, and add a config drive.
  - The disk's content is lost. Refuses an image whose disk is larger than the root device.
extends_documentation_fragment:
  - rackwright.metal._agent
options:
  image:
    description:
      - The image, as M(rackwright.metal.image) returned it.
    type: dict
    default: {}
  image_url:
    description:
      - URL from which the agent downloads the image.
    type: str
  configdrive:
    description:
      - The config drive as an object with C(meta_data), C(user_data), C(network_data) and C(vendor_data), as a URL,
        or as base64 text of a gzip-compressed ISO image.
    type: raw
  root_device:
    description:
      - The disk, as M(rackwright.metal.root_device) returned it.
    type: dict
    default: {}
  node:
    description:
      - The node as the API shows it. Values of secret keys are masked before they are sent.
    type: dict
    default: {}
  ports:
    description:
      - The ports of the node as the API shows them.
    type: list
    elements: dict
    default: []
  version:
    description:
      - The versions of the agent's hardware managers, as M(rackwright.metal.agent_steps_info) returned them.
      - The agent refuses a step when they are no longer the same.
    type: dict
  wait_timeout:
    description:
      - Seconds to wait for the end of it.
    type: int
    default: 3600
"""

EXAMPLES = r"""
- name: Write the image
  rackwright.metal.agent_image:
    url: "{{ agent_url }}"
    token: "{{ agent_token }}"
    ca: "{{ agent_certificate }}"
    image: "{{ checked.image }}"
    image_url: "{{ checked.url }}"
    root_device: "{{ chosen.root_device }}"
    node: "{{ node }}"
    configdrive:
      meta_data: {hostname: web-1}
"""

RETURN = r"""
{}
"""

from ansible_collections.rackwright.metal.plugins.module_utils._agent_work import OPTIONS, WORK
from ansible_collections.rackwright.metal.plugins.module_utils._operation import run_module


def main() -> None:
    """Send the image and wait."""
    run_module(OPTIONS["agent_image"], WORK["agent_image"])


if __name__ == "__main__":
    main()

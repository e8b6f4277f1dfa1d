#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: await_inventory
short_description: Wait for the inventory of a machine that is being inspected
version_added: 0.1.0
author: Rackwright contributors (@rackwright)
description:
  - Waits until the inspection of a node has ended, and returns the node's hardware inventory.
  - In a run of the Rackwright daemon the node waits without holding anything.
extends_documentation_fragment:
  - rackwright.metal._api
attributes:
  check_mode:
    support: full
    description: Says whether something would change, and changes nothing.
  diff_mode:
    support: none
    description: Shows what changes.
options:
  node:
    description:
      - Name or UUID of the node.
    type: str
  wait_timeout:
    description:
      - Seconds to wait for the end of the inspection.
    type: int
    default: 1800
"""

EXAMPLES = r"""
- name: Get the inventory of a node
  rackwright.metal.await_inventory:
    node: rack1-u4
  register: inspected
"""

RETURN = r"""
inventory:
  description: The machine's hardware.
  returned: success
  type: dict
  sample: {cpu: {count: 8}, memory: {physical_mb: 16384}}
"""

from ansible_collections.rackwright.metal.plugins.module_utils._inventory_wait import AWAIT_OPTIONS, await_inventory
from ansible_collections.rackwright.metal.plugins.module_utils._operation import run_module


def main() -> None:
    """Wait, and tell the inventory."""
    run_module(AWAIT_OPTIONS, await_inventory)


if __name__ == "__main__":
    main()

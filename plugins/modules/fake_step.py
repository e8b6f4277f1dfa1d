#!/usr/bin/python
# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: fake_step
short_description: Take a provision step without a machine
version_added: 0.1.0
author: Rackwright contributors (@rackwright)
description:
  - Does what a step of the hardware type C(fake-hardware) does, which touches nothing.
  - In a run of the Rackwright daemon all options come from the daemon.
attributes:
  check_mode:
    support: full
    description: Says what would change, and changes nothing.
  diff_mode:
    support: none
    description: Shows what changes.
options:
  name:
    description:
      - Name of the step, such as V(set_power_state).
    type: str
    required: true
  interface:
    description:
      - Interface of the step, such as V(power).
    type: str
    required: true
  args:
    description:
      - Arguments of the step.
    type: dict
    default: {}
  driver_info:
    description:
      - What steers the fake. C(fake_delay), or C(fake_power_delay) and so on for one interface, are seconds
        that a step takes. C(fake_fail) names a step that fails.
    type: dict
    default: {}
  delay:
    description:
      - Seconds that the step takes where O(driver_info) says nothing; two numbers with a comma mean a random time
        between them.
    type: str
    default: "0"
  power_state:
    description:
      - The power state that is recorded for the node.
    type: str
"""

EXAMPLES = r"""
- name: Pretend to power a machine on
  rackwright.metal.fake_step:
    name: set_power_state
    interface: power
    args:
      target: power on
"""

RETURN = r"""
facts:
  description: What the step found out.
  returned: success
  type: dict
  sample:
    power_state: power on
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.plugins.module_utils._fake import ARGUMENTS, act


def main() -> None:
    """Act, and tell the facts."""
    module = AnsibleModule(ARGUMENTS, supports_check_mode=True)
    try:
        facts = {} if module.check_mode else act(module.params)
    except OperationError as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=True, facts=facts)


if __name__ == "__main__":
    main()

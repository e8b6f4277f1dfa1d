# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that all modules share which talk to a BMC."""

from __future__ import annotations


class ModuleDocFragment:
    """Documentation of BMC_ARGUMENTS in module_utils/_bmc."""

    DOCUMENTATION = r"""
requirements:
  - sushy
notes:
  - The module runs on the controller, in the process of Ansible, and needs no connection to the machine.
  - The action group C(rackwright.metal.bmc) holds all modules with these options, for C(module_defaults).
options:
  protocol:
    description:
      - What the BMC speaks.
    type: str
    choices: [redfish]
    default: redfish
  address:
    description:
      - Address of the BMC, as in V(https://bmc-17.example.com). A path in it is where the service root is.
      - V(https) when no scheme is given.
    type: str
    required: true
  username:
    description:
      - User name of an account of the BMC. Without one there is no login.
    type: str
  password:
    description:
      - Password of that account.
    type: str
  system_id:
    description:
      - Which of the systems behind the BMC is meant, as a path (V(/redfish/v1/Systems/1)) or the last part of one.
      - Needed only where there are several.
    type: str
  verify_ca:
    description:
      - Whether the BMC's certificate is checked, or the path of a file with the authorities to check it against.
    type: raw
    default: true
  auth_type:
    description:
      - How to log in. V(auto) opens a session, and takes basic authentication where the BMC has no sessions.
    type: str
    choices: [auto, basic, session, none]
    default: auto
"""

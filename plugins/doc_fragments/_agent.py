# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of all modules that talk to the agent in the ramdisk."""

from __future__ import annotations


class ModuleDocFragment:
    """Documentation of AGENT_OPTIONS in module_utils/_agent.py."""

    DOCUMENTATION = r"""
options:
  url:
    description:
      - Callback URL of the agent, from its heartbeat. In a run of the Rackwright daemon it comes from the daemon.
    type: str
  token:
    description:
      - The token that the agent was given for this boot. It goes with every request.
    type: str
  ca:
    description:
      - The certificate of the agent, as PEM text, from its heartbeat. Nothing else is trusted.
      - Without it the certificates that this host trusts are used.
    type: str
  timeout:
    description:
      - Seconds to wait for each answer of the agent.
    type: int
    default: 60
attributes:
  check_mode:
    support: full
    description: Says whether something would change, and changes nothing.
  diff_mode:
    support: none
    description: Shows what changes.
"""

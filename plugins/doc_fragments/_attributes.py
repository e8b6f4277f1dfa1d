# Copyright: Rackwright contributors
# GNU General Public License v3.0+ (see LICENSES/GPL-3.0-or-later.txt or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What our modules can do."""

from __future__ import annotations


class ModuleDocFragment:
    """Check mode and diff mode, both in full."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    support: full
    description: Says what would change, and changes nothing.
  diff_mode:
    support: full
    description: Shows what changes.
"""

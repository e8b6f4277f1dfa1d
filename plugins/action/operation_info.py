# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module operation_info, run in Ansible's own process."""

from __future__ import annotations

from ansible_collections.rackwright.metal.plugins.plugin_utils._api_action import ApiAction


class ActionModule(ApiAction):
    """See the module operation_info for options and answers."""

    module = "operation_info"

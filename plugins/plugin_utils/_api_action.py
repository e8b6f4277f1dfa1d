# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run a module that only talks to the API inside Ansible's own process: no new Python for each host."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.rackwright.metal.plugins.module_utils._answers import OPTIONS, attempt
from ansible_collections.rackwright.metal.plugins.plugin_utils._lifeline import die_with_parent


class ApiAction(ActionBase):
    """The action plugin of a module in module_utils/_answers.py: same options, same answer, with progress shown."""

    _requires_connection = False
    module = ""

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Check the options and answer as the module does."""
        die_with_parent()
        result: dict[str, Any] = super().run(tmp, task_vars)
        _result, params = self.validate_argument_spec(OPTIONS[self.module])
        answer = attempt(self.module, params, check=self._task.check_mode, tell=Display().display)
        return {**result, **answer}

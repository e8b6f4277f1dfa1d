# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.executor.module_common import _apply_action_arg_defaults

from ansible_collections.rackwright.metal.plugins.module_utils._sequence import ARGUMENTS, read
from ansible_collections.rackwright.metal.plugins.plugin_utils._wave import Data, Links, Outcome, WaveAction


class ActionModule(WaveAction):
    """Serve each node with several tasks, one after the other, over one connection to its BMC."""

    arguments = ARGUMENTS

    def parts(self) -> Sequence[WaveAction]:
        """Return the plugins of the tasks."""
        try:
            tasks = read(self._task.args)
        except ValueError as error:
            raise AnsibleActionFail(str(error)) from error
        return [self._plugin(action, options) for action, options in tasks]

    def _plugin(self, action: str, options: Data) -> WaveAction:
        """Return the plugin of a task, with its options as ``module_defaults`` of the play complete them."""
        task = self._task.copy(exclude_parent=True)
        task.action, task.args = action, _apply_action_arg_defaults(action, self._task, options, self._templar)
        plugin: Any = self._shared_loader_obj.action_loader.get(
            action,
            task=task,
            connection=self._connection,
            play_context=self._play_context,
            loader=self._loader,
            templar=self._templar,
            shared_loader_obj=self._shared_loader_obj,
        )
        if not isinstance(plugin, WaveAction):
            raise AnsibleActionFail(f"{action} cannot be a part of a sequence. Make it a task of its own.")
        return plugin

    def operate(self, node: Any) -> Outcome:
        """Serve no node by itself: its parts do."""
        raise TypeError(f"A sequence has parts, and cannot serve {node.uuid} without them.")

    def serve_alone(self, host: str, links: Links) -> Data:
        """Serve one host with one part after the other, until one fails."""
        results: list[Data] = []
        for part in self.parts():
            results.append(part.serve_alone(host, links))
            if results[-1].get("failed"):
                break
        changed = any(result.get("changed") for result in results)
        failure = {key: results[-1][key] for key in ("failed", "msg") if results[-1].get("failed")}
        return {"changed": changed, "results": results, **failure}

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tasks that are carried out for a node one after the other, by one task of Ansible."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

Data = dict[str, Any]

ARGUMENTS: Data = {"tasks": {"type": "list", "elements": "dict", "required": True}}


def read(options: Mapping[str, Any]) -> list[tuple[str, Data]]:
    """Return the action and the options of each task; raise ValueError for what is no task."""
    checked = ArgumentSpecValidator(ARGUMENTS).validate(dict(options))
    if checked.error_messages:
        raise ValueError(" ".join(checked.error_messages))
    tasks: list[Data] = checked.validated_parameters["tasks"]
    if not tasks:
        raise ValueError("A sequence has at least one task.")
    return [_task(task) for task in tasks]


def _task(task: Mapping[str, Any]) -> tuple[str, Data]:
    actions = [key for key in task if key != "name"]
    if len(actions) != 1 or not isinstance(task[actions[0]], dict | None):
        raise ValueError(
            f"A task of a sequence is its name and one module with its options, not: {', '.join(task) or 'nothing'}."
        )
    return str(actions[0]), dict(task[actions[0]] or {})

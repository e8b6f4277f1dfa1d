# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run an operation as a module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError

Data = dict[str, Any]
Operation = Callable[[Data, bool], Data]
"""From validated options, and whether this is check mode, to the answer of the module. May raise OperationError."""


def run_module(arguments: Data, operation: Operation, **rules: Any) -> None:
    """Check the options, do the operation, and exit with its answer or its error."""
    module = AnsibleModule(argument_spec=arguments, supports_check_mode=True, **rules)
    try:
        answer = operation(module.params, module.check_mode)
    except OperationError as error:
        module.fail_json(msg=str(error))
    module.exit_json(**answer)

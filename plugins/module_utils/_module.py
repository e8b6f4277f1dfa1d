# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of the BMC modules."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.rackwright.metal.plugins.module_utils._bmc import BMC_ARGUMENTS, connect
from ansible_collections.rackwright.metal.plugins.module_utils._bmc.base import Bmc
from ansible_collections.rackwright.metal.plugins.module_utils._bmc.operations import Change
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError


class BmcModule(AnsibleModule):
    """A module with the options of a BMC connection besides its own."""

    def __init__(self, arguments: dict[str, Any], **rules: Any) -> None:
        AnsibleModule.__init__(self, {**BMC_ARGUMENTS, **arguments}, supports_check_mode=True, **rules)

    @contextmanager
    def bmc(self) -> Iterator[Bmc]:
        """Connect to the BMC; end the module when an operation on it fails."""
        try:
            with connect(self.params) as bmc:
                yield bmc
        except OperationError as error:
            self.fail_json(msg=str(error))
        for note in bmc.notes:
            self.warn(note)

    def exit_change(self, change: Change) -> None:
        """End the module with what an operation has found and done."""
        self.exit_json(changed=change.changed, diff=change.diff(), **change.after)

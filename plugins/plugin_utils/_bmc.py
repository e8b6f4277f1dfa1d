# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of the action plugins that talk to BMCs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ansible_collections.rackwright.metal.plugins.module_utils._bmc import BMC_ARGUMENTS, connect
from ansible_collections.rackwright.metal.plugins.module_utils._bmc.operations import Change
from ansible_collections.rackwright.metal.plugins.plugin_utils._wave import Done, Node, Outcome, WaveAction


class BmcAction(WaveAction):
    """Carry out one of the operations of ``_bmc/operations.py``."""

    groups = ("bmc",)
    arguments = BMC_ARGUMENTS
    operation: ClassVar[Callable[..., Change]]
    asks: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Options, each with the argument of the step under way that gives it."""

    def options(self, context: dict[str, Any]) -> dict[str, Any]:
        """Take what the context and the arguments of the step give."""
        given = {option: self.asked(context, name) for option, name in self.asks}
        return super().options(context) | {option: value for option, value in given.items() if value is not None}

    def operate(self, node: Node) -> Outcome:
        """Connect to the node's BMC and carry the operation out."""
        with connect(node.params) as bmc:
            change = self.operation(bmc, node.params, check=node.check_mode)
        notes = {"warnings": bmc.notes} if bmc.notes else {}
        return Done(change.changed, change.facts, {**change.after, **notes}, change.diff())

    @staticmethod
    def asked(context: dict[str, Any], name: str) -> Any:
        """Return an argument of the step that is under way, None where it has none of that name."""
        return ((context.get("step") or {}).get("args") or {}).get(name)

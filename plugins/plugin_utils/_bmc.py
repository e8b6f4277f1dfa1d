# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of the action plugins that talk to BMCs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from ansible_collections.rackwright.metal.plugins.module_utils._bmc import BMC_ARGUMENTS, connect
from ansible_collections.rackwright.metal.plugins.module_utils._bmc.base import Bmc
from ansible_collections.rackwright.metal.plugins.module_utils._bmc.operations import Change
from ansible_collections.rackwright.metal.plugins.plugin_utils._wave import Done, Node, Outcome, WaveAction


def connected(node: Node, options: Mapping[str, Any]) -> Bmc:
    """Return the BMC that the options describe; the tasks of a sequence share the connection. Raise OperationError."""
    given = {name: options.get(name, spec.get("default")) for name, spec in BMC_ARGUMENTS.items()}
    bmc: Bmc = node.links.open(tuple(map(str, given.values())), lambda: connect(given))
    return bmc


class BmcAction(WaveAction):
    """Carry out one of the operations of ``_bmc/operations.py``."""

    groups: ClassVar[tuple[str, ...]] = ("bmc",)
    arguments = BMC_ARGUMENTS
    operation: ClassVar[Callable[..., Change]]
    asks: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Options, each with the argument of the step under way that gives it."""

    def options(self, context: dict[str, Any]) -> dict[str, Any]:
        """Take what the context and the arguments of the step give."""
        given = {option: self.asked(context, name) for option, name in self.asks}
        return super().options(context) | {option: value for option, value in given.items() if value is not None}

    def operate(self, node: Node) -> Outcome:
        """Connect to the node's BMC, unless a task before this one has, and carry the operation out."""
        bmc = connected(node, node.params)
        change = self.operation(bmc, node.params, check=node.check_mode)
        notes = {"warnings": list(bmc.notes)} if bmc.notes else {}
        bmc.notes.clear()
        return Done(change.changed, change.facts, {**change.after, **notes}, change.diff())

    @staticmethod
    def asked(context: dict[str, Any], name: str) -> Any:
        """Return an argument of the step that is under way, None where it has none of that name."""
        return ((context.get("step") or {}).get("args") or {}).get(name)

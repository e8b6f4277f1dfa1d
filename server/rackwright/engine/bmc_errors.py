# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Which machines have BMCs that make trouble: errors counted by vendor and model."""

from __future__ import annotations

from rackwright.store.node import Node
from rackwright.telemetry.numbers import BMC_ERRORS

MODEL = "model"
"""Key of driver_internal_info: the model that the BMC tells."""


def count(node: Node, kind: str) -> None:
    """Count an error of the BMC of a node; ``kind`` is a word such as ``unreachable``, empty where it was none."""
    if not kind:
        return
    vendor, model = node.properties.get("vendor"), node.driver_internal_info.get(MODEL)
    BMC_ERRORS.note(vendor=str(vendor or ""), model=str(model or ""), kind=kind)

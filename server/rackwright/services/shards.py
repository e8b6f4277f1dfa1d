# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Shards: which there are, and how many nodes each has (contract: api.yaml, shards)."""

from __future__ import annotations

from typing import Any

from rackwright.services import access
from rackwright.services.context import Context
from rackwright.store import node as nodes


def listed(*, context: Context) -> list[dict[str, Any]]:
    """Return each shard with the number of its nodes; those without one are counted under the name ``None``."""
    access.demand("baremetal:shards:get", context=context)
    project = access.visible_to("node", context=context)
    counts = nodes.shard_counts(session=context.session, visible_to=project)
    return [{"name": str(name), "count": count} for name, count in counts]

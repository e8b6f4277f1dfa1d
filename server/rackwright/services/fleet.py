# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The whole fleet in short: how many nodes are in which state, what goes on, and who works."""

from __future__ import annotations

from typing import Any

from rackwright.domain.states import ProvisionState
from rackwright.services import access
from rackwright.services.context import Context
from rackwright.store import census
from rackwright.store.census import NodeCount
from rackwright.store.columns import now


def counted(context: Context) -> dict[str, Any]:
    """Return the counts; raise Forbidden for a caller who may list no nodes.

    A caller who sees only the nodes of a project is told of these nodes, and of nothing else. ``at`` is the time by the
    clock that the times of nodes come from.
    """
    at = now()
    project = access.visible_to("node", context=context)
    found: dict[str, Any] = {
        "at": at.isoformat(),
        "nodes": [_shown(each) for each in census.nodes(session=context.session, visible_to=project)],
        "operations": [],
        "conductors": [],
    }
    if project is None and access.allows("baremetal:conductor:get", context=context):
        found["operations"] = [
            {
                "phase": each.phase,
                "status": each.status,
                "count": each.count,
                "oldest_seconds": round((at - each.oldest).total_seconds(), 1),
            }
            for each in census.operations(session=context.session)
        ]
        signs = census.conductors(session=context.session, timeout=context.settings.heartbeat_timeout, at=at)
        found["conductors"] = [{"hostname": each.hostname, "alive": each.alive} for each in signs]
    return found


def _shown(each: NodeCount) -> dict[str, Any]:
    traits = ProvisionState(each.provision_state).traits
    return {
        "provision_state": each.provision_state,
        "maintenance": each.maintenance,
        "count": each.count,
        "busy": not (traits.stable or traits.failure_state),
        "failed": traits.failure_state or each.provision_state == ProvisionState.ERROR,
    }

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether a node's agent runs on from one phase to the next, so that the machine is not booted again.

Source: ``contract/agent-protocol.md`` section 7. An inspection always boots, since agents inspect when they start.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from rackwright.domain.states import PowerState
from rackwright.domain.verbs import Phase
from rackwright.engine.transitions import AGENT_BOOT
from rackwright.settings import Settings
from rackwright.store.node import Node

_TAKES_UP = (Phase.CLEAN, Phase.DEPLOY)


def is_on(node: Node, settings: Settings) -> bool:
    """Tell whether the operator wants it: driver_info wins over the setting."""
    wanted = node.driver_info.get("fast_track")
    return settings.fast_track if wanted is None else str(wanted).lower() in ("true", "1", "yes", "on")


def lives(node: Node, phase: Phase, *, settings: Settings, at: datetime) -> bool:
    """Tell whether ``phase`` begins with the agent that runs already, or comes up after an inspection."""
    if phase not in _TAKES_UP or not is_on(node, settings):
        return False
    if node.power_state != PowerState.ON or node.last_error is not None:
        return False
    info, since = node.driver_internal_info, at - timedelta(seconds=settings.fast_track_timeout)
    heard = _moment(info.get("agent_last_heartbeat")) if info.get("agent_url") else None
    inspected = node.inspection_finished_at if info.get(AGENT_BOOT) else None
    return any(moment is not None and moment >= since for moment in (heard, inspected))


def _moment(text: object) -> datetime | None:
    if not text:
        return None
    seen = datetime.fromisoformat(str(text))
    return seen if seen.tzinfo else seen.replace(tzinfo=UTC)

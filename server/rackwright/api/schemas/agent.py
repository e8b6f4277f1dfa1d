# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What agents send and are told (contract: agent-protocol.md section 1)."""

from __future__ import annotations

from typing import Any

from rackwright.api.deps import Arg, Args
from rackwright.api.fields import Site
from rackwright.api.kinds import TEXT, UUID_TEXT, WORDS, string
from rackwright.api.schemas.node import NODE
from rackwright.services.agents import Found

_LONG = string(65536)

LOOKUP: Args = {"addresses": Arg(WORDS), "node_uuid": Arg(UUID_TEXT)}

REPORT: Args = {"node_uuid": Arg(UUID_TEXT, 84)}

HEARTBEAT: Args = {
    "callback_url": Arg(_LONG, required=True),
    "agent_version": Arg(TEXT.or_null(), 36, newer_is_wrong=True),
    "agent_token": Arg(TEXT.or_null(), 62, newer_is_wrong=True),
    "agent_verify_ca": Arg(_LONG.or_null(), 68, newer_is_wrong=True),
    "agent_status": Arg(TEXT.or_null(), 72, newer_is_wrong=True),
    "agent_status_message": Arg(_LONG.or_null(), 72, newer_is_wrong=True),
}

_NODE = tuple(NODE.by_name[name] for name in ("uuid", "properties", "instance_info", "driver_internal_info", "links"))


def told(found: Found, site: Site) -> dict[str, Any]:
    """Return the answer to a lookup."""
    return {"node": NODE.render(found.node.model_dump(), _NODE, site), "config": dict(found.config)}

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What an event of another service consists of (contract: api.yaml, events)."""

from __future__ import annotations

from typing import Any

from rackwright.api.kinds import MAC, TEXT, UUID_TEXT, Kind, choice

_PARTS: dict[str, Kind] = {
    "event": choice("network.bind_port", "network.unbind_port", "network.delete_port"),
    "port_id": UUID_TEXT,
    "mac_address": MAC,
    "status": TEXT,
    "device_id": TEXT.or_null(),
    "binding:host_id": UUID_TEXT.or_null(),
    "binding:vnic_type": TEXT.or_null(),
}
_EVENT = {
    "type": "object",
    "properties": {name: dict(kind.schema) for name, kind in _PARTS.items()},
    "required": ["event", "port_id", "mac_address", "status"],
    "additionalProperties": False,
}


def _events(values: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: _PARTS[name].normal(value) for name, value in event.items()} for event in values]


EVENTS = Kind({"type": "array", "minItems": 1, "items": _EVENT}, _events)

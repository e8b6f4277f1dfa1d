# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Nodes in the state that a client expects, made with plain requests."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import httpx

VERSION = {"X-OpenStack-Ironic-API-Version": "1.89"}
PATIENCE = 90.0


def make_available(client: httpx.Client, fields: Mapping[str, object]) -> dict[str, Any]:
    """Create a node and bring it where it can be deployed."""
    created = client.post("/v1/nodes", json=fields)
    created.raise_for_status()
    uuid = created.json()["uuid"]
    for target, state in (("manage", "manageable"), ("provide", "available")):
        client.put(f"/v1/nodes/{uuid}/states/provision", json={"target": target}).raise_for_status()
        node = await_state(client, uuid, state)
    return node


def await_state(client: httpx.Client, uuid: str, state: str) -> dict[str, Any]:
    """Wait until a node rests in a state and return it."""
    end = time.monotonic() + PATIENCE
    while True:
        node: dict[str, Any] = client.get(f"/v1/nodes/{uuid}").raise_for_status().json()
        if node["provision_state"] == state and node["reservation"] is None:
            return node
        told = {key: node[key] for key in ("provision_state", "last_error")}
        assert "fail" not in node["provision_state"] and time.monotonic() < end, f"not {state}: {told}"
        time.sleep(0.3)

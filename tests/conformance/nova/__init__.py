# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Nova's own driver for bare metal: an instance from its start to its end."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import httpx

from tests.conformance.checks import Check
from tests.conformance.nodes import VERSION, make_available
from tests.conformance.nova.service import Instance, driver
from tests.conformance.servers import Server

ADDRESS = "52:54:00:00:00:50"
NODE = {
    "driver": "fake-hardware",
    "resource_class": "metal",
    "properties": {"cpus": 4, "memory_mb": 4096, "local_gb": 100, "cpu_arch": "x86_64"},
}
STEPS = (
    *("resources", "spawn", "refuse_second", "power_off", "power_on", "reboot_hard", "reboot_soft", "rescue"),
    *("unrescue", "rebuild", "volume_connector", "interfaces", "destroy"),
)


def run(server: Server) -> Iterator[Check]:
    """Let the driver run an instance on a node that is made available here."""
    instance = Instance(_node(server.url), ADDRESS, str(uuid.uuid4()), "secret")
    with driver(server.url, instance, server.folder) as take:
        for step in STEPS:
            yield take(step)


def _node(url: str) -> str:
    with httpx.Client(base_url=url, headers=VERSION, timeout=60) as client:
        node = str(make_available(client, NODE)["uuid"])
        port = {"node_uuid": node, "address": ADDRESS}
        connector = {"node_uuid": node, "type": "iqn", "connector_id": "iqn.2026-01.example:one"}
        client.put(f"/v1/nodes/{node}/traits", json={"traits": ["CUSTOM_GOLD"]}).raise_for_status()
        client.post("/v1/ports", json=port).raise_for_status()
        client.put(f"/v1/nodes/{node}/states/power", json={"target": "power off"}).raise_for_status()
        client.post("/v1/volume/connectors", json=connector).raise_for_status()
    return node

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Allocations of a whole daemon, whose conductor dies in the middle."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.server.daemon_house import Daemon, until

pytestmark = pytest.mark.slow

BEFORE_ENROLL = {"X-OpenStack-Ironic-API-Version": "1.1"}
COUNT = 4


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    started = Daemon(tmp_path)
    yield started
    started.client.close()
    if started.process.poll() is None:
        started.stop()


def fresh(daemon: Daemon) -> str:
    """Return an available node whose power nobody has read yet, and whose BMC is slow."""
    body = {"driver": "fake-hardware", "driver_info": {"fake_power_delay": "2"}}
    uuid = str(daemon.client.post("/v1/nodes", json=body, headers=BEFORE_ENROLL).json()["uuid"])
    daemon.done("PATCH", f"/v1/nodes/{uuid}", [{"op": "add", "path": "/resource_class", "value": "metal"}])
    return uuid


def allocations(daemon: Daemon) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = daemon.done("GET", "/v1/allocations")["allocations"]
    return found


def test_every_wish_gets_a_node_of_its_own_although_the_conductor_is_killed(daemon: Daemon) -> None:
    uuids = [fresh(daemon) for _ in range(COUNT)]
    for _ in range(COUNT):
        daemon.done("POST", "/v1/allocations", {"resource_class": "metal"})
    until(lambda: "A run starts" in daemon.log.read_text(), 30, "a look at the power")
    before = daemon.child("conductor")
    assert {each["state"] for each in allocations(daemon)} == {"allocating"}
    daemon.kill("conductor")
    until(lambda: daemon.child("conductor") not in (None, before), 30, "another conductor")
    until(lambda: all(each["state"] != "allocating" for each in allocations(daemon)), 60, "an end of the wishes")
    assert {each["node_uuid"]: each["last_error"] for each in allocations(daemon)} == dict.fromkeys(uuids)
    for each in allocations(daemon):
        assert daemon.done("GET", f"/v1/nodes/{each['node_uuid']}")["instance_uuid"] == each["uuid"]
    assert {node["power_state"] for node in daemon.nodes().values()} != {None}

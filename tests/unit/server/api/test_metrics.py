# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The numbers that Prometheus reads: what they say, who may read them, and how many they can become."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from rackwright.services.numbers import described
from rackwright.store.operation import Operation, OperationStatus
from rackwright.store.session import writing
from tests.unit.server.api_house import HOST, House
from tests.unit.server.keystone_house import GuardedHouse, Keystone

Found = dict[tuple[str, ...], float]


def read(house: House) -> Found:
    """Return each number by its name, without the prefix of all, and the values of its labels."""
    answer = house.client.get("/metrics", headers={"Accept": "text/plain"})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = text_string_to_metric_families(answer.text)
    samples = [sample for family in families for sample in family.samples]
    return {(each.name.removeprefix("rackwright_"), *each.labels.values()): each.value for each in samples}


def begin(house: House, phase: str, status: OperationStatus, **columns: Any) -> None:
    """Let an operation be under way at a new node."""
    uuid = house.node()
    with writing(house.parts.engine) as session:
        node = house.stored(uuid)
        session.add(Operation(node_id=node.id or 0, phase=phase, status=status.value, **columns))
        session.commit()


def test_nodes_operations_runs_and_conductors_are_counted(house: House) -> None:
    for state, maintenance in (("active", False), ("active", False), ("active", True), ("deploy failed", False)):
        uuid = house.node()
        house.set(uuid, provision_state=state, maintenance=maintenance)
    for run in ("r1", "r1", "r2"):
        begin(house, "deploy", OperationStatus.RUNNING, run_id=run)
    begin(house, "clean", OperationStatus.WAITING)
    found = read(house)
    assert found["nodes", "false", "active"] == 2
    assert found["nodes", "true", "active"] == 1
    assert found["nodes", "false", "deploy failed"] == 1
    assert found["nodes", "false", "available"] == 0, "a state without nodes is told as 0, so that alerts can end"
    assert found["operations", "deploy", "running"] == 3
    assert found["operations", "clean", "waiting"] == 1
    assert found["runs", "deploy"] == 2
    assert found["conductor_alive", HOST] == 1
    assert 0 <= found["conductor_seen_seconds", HOST] < 60
    assert found["operation_oldest_seconds", "clean", "waiting"] >= 0


def test_nothing_in_the_numbers_names_a_node_or_tells_a_secret(house: House) -> None:
    secrets = {"redfish_address": "https://bmc-7.example", "redfish_password": "canary"}
    uuid = house.node(name="web-1", driver_info=secrets, extra={"x": "canary"})
    house.call("PUT", f"/nodes/{uuid}/states/provision", {"target": "manage"})
    text = house.client.get("/metrics").text
    for word in (uuid, "web-1", "bmc-7", "canary"):
        assert word not in text


def test_more_nodes_make_no_more_numbers(house: House) -> None:
    begin(house, "deploy", OperationStatus.READY)
    before = read(house).keys()
    for _ in range(5):
        begin(house, "deploy", OperationStatus.READY)
    assert read(house).keys() == before


def test_the_setting_off_tells_nothing(tmp_path: Path) -> None:
    answer = House(tmp_path, metrics="off").client.get("/metrics")
    assert answer.status_code == 404
    assert "set it to authenticated or open" in answer.text


@pytest.mark.parametrize(
    ("setting", "who", "status"),
    [
        ("authenticated", None, 401),
        ("authenticated", "member@p1", 403),
        ("authenticated", "reader@system", 200),
        ("open", None, 200),
        ("off", None, 401),
    ],
)
def test_the_setting_says_who_may_read_the_numbers(
    tmp_path: Path, keystone: Keystone, setting: str, who: str | None, status: int
) -> None:
    house = GuardedHouse(tmp_path, keystone, metrics=setting)
    headers = {"X-Auth-Token": house.token(who)} if who else {}
    assert house.client.get("/metrics", headers=headers).status_code == status


def test_every_number_is_described_once() -> None:
    names = [name for name, *_ in described()]
    assert len(names) == len(set(names))
    assert {"rackwright_nodes", "rackwright_bmc_errors_total", "rackwright_step_seconds"} <= set(names)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the time of a node went, and what it waits for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rackwright.engine import timeline
from rackwright.engine.timeline import Activity
from rackwright.store.node import Node
from rackwright.store.operation import Operation, OperationStatus
from rackwright.store.session import writing
from tests.unit.server.api_house import House

BEGIN = datetime(2026, 11, 30, 12, tzinfo=UTC)
STEPS = [{"interface": "boot", "name": "boot_ramdisk"}, {"interface": "deploy", "name": "write_image"}]


def at(seconds: float) -> datetime:
    return BEGIN + timedelta(seconds=seconds)


def deploying(node: Node) -> Operation:
    """Return an operation that booted for 50 s, of which it waited for 45, and has written for 10 s."""
    operation = Operation(node_id=node.id or 0, phase="deploy", verb="active", steps=STEPS, started_at=BEGIN)
    for seconds, position, activity in ((2, 0, "runs"), (5, 0, "waits"), (50, 0, "queued"), (52, 1, "runs")):
        operation.position, operation.run_id = position, f"run-{position}"
        timeline.note(operation, node, Activity(activity), at=at(seconds))
    return operation


def test_time_is_summed_up_by_activity_and_by_step_and_runs_are_the_legs() -> None:
    told = timeline.told(deploying(Node(driver="fake-hardware")), at=at(62))
    assert told["seconds"] == {"queued": 4.0, "runs": 13.0, "waits": 45.0}
    assert told["steps"] == [
        {"step": "boot.boot_ramdisk", "seconds": 50.0},
        {"step": "deploy.write_image", "seconds": 10.0},
    ]
    assert [(each["activity"], each["run"], each["seconds"]) for each in told["stretches"]] == [
        ("queued", None, 2.0),
        ("runs", "run-0", 3.0),
        ("waits", None, 45.0),
        ("queued", None, 2.0),
        ("runs", "run-1", 10.0),
    ]


def stored(house: House, **columns: Any) -> str:
    uuid = house.node(name="web-1", provision_state="wait call-back")
    with writing(house.parts.engine) as session:
        node = session.get(Node, 1)
        assert node is not None
        operation = deploying(node)
        for name, value in columns.items():
            setattr(operation, name, value)
        session.add_all((node, operation))
        session.commit()
    return uuid


@pytest.mark.parametrize(
    ("waits_for", "why"), [("agent", "heartbeat"), ("inspection", "report"), ("poll", "time to look"), (None, "unhold")]
)
def test_a_waiting_node_says_for_what_and_until_when(house: House, waits_for: str | None, why: str) -> None:
    status = OperationStatus.WAITING.value
    uuid = stored(house, status=status, waits_for=waits_for, deadline_at=at(1800), wake_at=at(70))
    for ident in (uuid, "web-1"):
        answer = house.client.get(f"/rackwright/v1/nodes/{ident}/timeline")
        assert answer.status_code == 200, answer.text
        now = answer.json()["now"]
        assert why in now["why"]
        assert (now["phase"], now["step"], now["index"], now["count"]) == ("deploy", "deploy.write_image", 1, 2)
        assert now["waits_for"] == waits_for
        assert datetime.fromisoformat(now["deadline_at"]) == at(1800)
        assert datetime.fromisoformat(now["wake_at"]) == at(70)


READY, RUNNING = OperationStatus.READY.value, OperationStatus.RUNNING.value


def queued(house: House, columns: dict[str, Any], *others: tuple[str, str, dict[str, Any]]) -> str:
    """Return why a node is queued beside others, each with the status of its operation, why, and its columns."""
    with writing(house.parts.engine) as session:
        for number, (status, why, more) in enumerate([(READY, "", {"name": "web-1", **columns}), *others]):
            shown = {"operation": {"activity": "queued", **({"why": why} if why else {})}}
            node = Node(**{"name": f"other-{number}", "driver": "fake-hardware", "driver_internal_info": shown, **more})
            session.add(node)
            session.flush()
            session.add(Operation(node_id=node.id or 0, phase="deploy", steps=STEPS, status=status))
        session.commit()
    return str(house.client.get("/rackwright/v1/nodes/web-1/timeline").json()["now"]["why"])


@pytest.mark.parametrize(
    ("shared", "setting"),
    [
        ({"properties": {"rack": "r7"}}, "max_running_per_rack"),
        ({"driver_info": {"redfish_address": "https://192.0.2.1"}}, "max_running_per_bmc"),
    ],
)
def test_a_node_that_is_queued_because_of_a_limit_names_it(
    tmp_path: Path, shared: dict[str, Any], setting: str
) -> None:
    house = House(tmp_path, **{setting: 2})
    busy = [(RUNNING, "", {"name": f"busy-{number}", **shared}) for number in range(2)]
    why = queued(house, shared, *busy)
    assert f"{setting} is 2" in why and ("r7" in why or "192.0.2.1" in why)


def test_a_node_below_its_limits_waits_for_a_free_run(tmp_path: Path) -> None:
    house = House(tmp_path, max_running_per_rack=2)
    r7, r8 = ({"properties": {"rack": name}} for name in ("r7", "r8"))
    assert "free run" in queued(house, r7, (RUNNING, "", r7), (RUNNING, "", r8), (READY, "", r7))


def test_a_node_whose_host_is_away_tells_so_though_another_one_was_tried(tmp_path: Path) -> None:
    house = House(tmp_path, execution_hosts={"rack7": "a", "rack8": "b"})
    here, there = ({"conductor_group": name} for name in ("rack7", "rack8"))
    why = queued(house, here, (READY, "b cannot be reached", there), (READY, "a cannot be reached", here))
    assert why == "It is ready, and waits until runs can be carried out: a cannot be reached"


def test_what_is_over_ends_where_it_ended_and_nothing_goes_on(house: House) -> None:
    stored(house, status=OperationStatus.DONE.value, finished_at=at(100))
    told = house.client.get("/rackwright/v1/nodes/web-1/timeline").json()
    assert told["now"] is None
    (operation,) = told["operations"]
    assert (operation["phase"], operation["verb"], operation["status"]) == ("deploy", "active", "done")
    assert sum(operation["seconds"].values()) == 100.0


def test_an_unknown_node_has_no_timeline(house: House) -> None:
    assert house.client.get("/rackwright/v1/nodes/nobody/timeline").status_code == 404

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What it takes to tell a run of its nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import event

from rackwright.domain.verbs import Phase
from rackwright.engine import operations
from rackwright.engine.composition import loaded
from rackwright.engine.live import LiveRun, LiveRuns
from rackwright.engine.subjects import Subjects
from rackwright.store.port import Port
from rackwright.store.session import writing
from rackwright.store.work import locked
from tests.unit.server.engine.engine_house import EngineHouse


def told(folder: Path, count: int) -> tuple[dict[str, Any], int]:
    """Return what the door tells of a run of so many nodes, each with a port, and how many queries that took."""
    folder.mkdir()
    house = EngineHouse(folder)
    started = {}
    for number in range(count):
        uuid = house.node(provision_state="available")
        started[uuid] = house.verb(uuid, "active")
        with writing(house.world.database) as session:
            operation, node = locked(started[uuid].uuid, session=session) or (None, None)
            assert operation and node and operations.claim(operation, node, "run-1", world=house.world)
            session.add(Port(node_id=node.id or 0, address=f"52:54:00:00:00:{number:02x}"))
            session.commit()
    runs = LiveRuns()
    steps = loaded(next(iter(started.values())).steps)
    runs.add(LiveRun("run-1", Phase.DEPLOY, steps, 0, {uuid: one.uuid for uuid, one in started.items()}))
    queries: list[str] = []
    event.listen(house.world.database, "before_cursor_execute", lambda *given: queries.append(given[2]))
    answer = Subjects(house.world, runs).answer("run-1", 0, None)
    house.close()
    return answer, len(queries)


def test_each_node_is_told_with_its_own_ports(tmp_path: Path) -> None:
    answer, _ = told(tmp_path / "three", 3)
    addresses = [[port["address"] for port in context["ports"]] for context in answer.values()]
    assert sorted(addresses) == [[f"52:54:00:00:00:{number:02x}"] for number in range(3)]
    assert all(context["node"]["uuid"] == uuid for uuid, context in answer.items())


def test_many_nodes_are_told_in_as_few_queries_as_one(tmp_path: Path) -> None:
    assert told(tmp_path / "one", 1)[1] == told(tmp_path / "ten", 10)[1]

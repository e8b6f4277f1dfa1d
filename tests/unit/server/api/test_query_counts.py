# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""No answer asks the database once for each of its rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from inspect import iscoroutinefunction
from typing import Any

import pytest
from sqlalchemy import event
from sqlmodel import SQLModel

from rackwright.api.routing import Route
from rackwright.api.v1 import ROUTERS
from rackwright.store import conductor as conductors
from rackwright.store.allocation import Allocation
from rackwright.store.chassis import Chassis
from rackwright.store.deploy_template import DeployTemplate
from rackwright.store.hardware import BiosSetting, FirmwareComponent
from rackwright.store.history import NodeHistory
from rackwright.store.inspection_rule import InspectionRule
from rackwright.store.node import Node
from rackwright.store.port import Port
from rackwright.store.portgroup import Portgroup
from rackwright.store.runbook import Runbook
from rackwright.store.session import writing
from rackwright.store.volume import VolumeConnector, VolumeTarget
from tests.unit.server.api_house import NODE, House

SIZES = (1, 10, 100)
LISTS = {
    *("nodes", "ports", "portgroups", "chassis", "allocations", "deploy_templates", "runbooks", "inspection_rules"),
    *("volume/connectors", "volume/targets", "conductors", "shards"),
    *(
        f"nodes/{{ident}}/{part}"
        for part in ("ports", "portgroups", "history", "bios", "firmware", "children", "traits")
    ),
    *(f"nodes/{{ident}}/{part}" for part in ("volume/connectors", "volume/targets", "vifs")),
}
"""Where the rows of ``fill`` are to be seen."""

# Each endpoint that answers GET without asking a machine.
ENDPOINTS = sorted(
    route.path
    for router in ROUTERS
    for route in router.routes
    if isinstance(route, Route) and "GET" in (route.methods or ()) and not iscoroutinefunction(route.endpoint)
)


def uuid(number: int) -> str:
    """Return a UUID; the first is that of the first row of every table."""
    return NODE if number == 0 else f"22222222-2222-4222-8222-{number:012x}"


def fill(house: House, count: int) -> None:
    """Add rows: each collection gets ``count``, and so does the first node; what has a node has one of its own too."""
    with writing(house.parts.engine) as session:
        nodes = [Node(uuid=uuid(n), name=f"n{n}", driver="fake-hardware", shard=f"s{n}") for n in range(count)]
        nodes[0].traits = [f"CUSTOM_{n}" for n in range(count)]
        session.add_all(nodes)
        session.flush()
        session.add_all(Node(name=f"child{n}", driver="fake-hardware", parent_node=NODE) for n in range(count))
        for number in range(count):
            session.add_all(alone(number))
            conductors.register(f"host{number}", session=session, drivers=["fake-hardware"])
        for number, node in enumerate([nodes[0]] * count + nodes):
            session.add_all(of_node(node.id or 0, number))
        session.commit()


def alone(number: int) -> list[SQLModel]:
    same: dict[str, Any] = {"uuid": uuid(number)}
    name = f"CUSTOM_{number}"
    return [
        Chassis(**same),
        Allocation(**same, name=name, node_uuid=uuid(number), state="active"),
        DeployTemplate(**same, name=name),
        Runbook(**same, name=name),
        InspectionRule(**same),
    ]


def of_node(node: int, number: int) -> list[SQLModel]:
    same: dict[str, Any] = {"uuid": uuid(number), "node_id": node}
    vif = {"tenant_vif_port_id": uuid(number)}
    return [
        Portgroup(**same, mode="active-backup"),
        Port(**same, address=f"52:54:00:00:00:{number:02x}", internal_info=vif, portgroup_uuid=NODE),
        VolumeConnector(**same, type="iqn", connector_id=f"iqn-{number}"),
        VolumeTarget(**same, volume_type="iscsi", volume_id=str(number), boot_index=number),
        NodeHistory(**same, event="failed"),
        BiosSetting(node_id=node, name=f"setting{number}"),
        FirmwareComponent(node_id=node, component=f"nic:{number}"),
    ]


@pytest.fixture(scope="module")
def houses(tmp_path_factory: pytest.TempPathFactory) -> dict[int, House]:
    found = {size: House(tmp_path_factory.mktemp(f"with-{size}")) for size in SIZES}
    for size, house in found.items():
        fill(house, size)
    return found


@contextmanager
def queries(house: House) -> Iterator[list[str]]:
    """Yield the statements that the database gets."""
    seen: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        seen.append(statement)

    event.listen(house.parts.engine, "before_cursor_execute", note)
    try:
        yield seen
    finally:
        event.remove(house.parts.engine, "before_cursor_execute", note)


def place(path: str) -> str:
    """Return a path with the first row of each table in it."""
    driver = path.startswith("/v1/drivers")
    return "/".join(
        "fake-hardware" if driver and "{" in part else NODE if "{" in part else part for part in path.split("/")
    )


@pytest.mark.parametrize("path", ENDPOINTS)
def test_more_rows_take_no_more_queries(houses: dict[int, House], path: str) -> None:
    asked = []
    for house in houses.values():
        with queries(house) as seen:
            assert house.call("GET", f"/{place(path)}").status_code < 500
        asked.append(seen)
    assert len({len(each) for each in asked}) == 1, asked[0] + ["and for more rows:"] + asked[1]


@pytest.mark.parametrize("path", sorted(LISTS))
def test_the_lists_hold_the_rows_that_were_counted(houses: dict[int, House], path: str) -> None:
    assert f"/v1/{path}" in ENDPOINTS
    for size, house in houses.items():
        found = house.call("GET", f"/{path}".replace("{ident}", NODE)).json()
        assert max(len(each) for each in found.values() if isinstance(each, list | dict)) >= size


def test_every_endpoint_is_reached_without_resolving_dependencies() -> None:
    assert [route.path for router in ROUTERS for route in router.routes if not isinstance(route, Route)] == []

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Every field of nodes and ports at the versions before and at its first one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rackwright.api.fields import Field, Resource
from rackwright.api.schemas.chassis import CHASSIS
from rackwright.api.schemas.conductor import CONDUCTOR
from rackwright.api.schemas.driver import DRIVER
from rackwright.api.schemas.history import HISTORY
from rackwright.api.schemas.node import NODE
from rackwright.api.schemas.port import PORT
from rackwright.api.schemas.portgroup import PORTGROUP
from rackwright.api.schemas.volume import CONNECTOR, TARGET
from rackwright.api.versions import MAXIMUM
from rackwright.domain.errors import Invalid
from rackwright.store.chassis import Chassis
from rackwright.store.conductor import Conductor
from rackwright.store.history import NodeHistory
from rackwright.store.node import Node
from rackwright.store.port import Port
from rackwright.store.portgroup import Portgroup
from rackwright.store.volume import VolumeConnector, VolumeTarget
from tests.unit.server.api_house import NODE as UUID
from tests.unit.server.api_house import House

VALUES: dict[str, Any] = {
    **dict.fromkeys(("chassis_uuid", "parent_node", "protected_reason", "retired_reason")),
    "automated_clean": True,
    "conductor_group": "",
    "driver": "fake-hardware",
    "instance_uuid": UUID,
    "network_data": {"links": [], "networks": [], "services": []},
    "uuid": UUID,
}


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory) -> House:
    return House(tmp_path_factory.mktemp("rack"))


@pytest.fixture
def house(rack: House) -> Iterator[House]:
    yield rack
    rack.clear()


def value_for(field: Field) -> Any:
    if field.name in VALUES:
        return VALUES[field.name]
    if field.name.endswith("_interface"):
        return "noop" if field.name in ("network_interface", "storage_interface") else "fake"
    samples: tuple[Any, ...] = ({"a": 1}, "some-text", True, [])
    return next(sample for sample in samples if fits(field, sample))


def fits(field: Field, value: Any) -> bool:
    try:
        field.kind.read(value, field.name)
    except Invalid:
        return False
    return True


def later(resource: Resource) -> list[Field]:
    return [each for each in resource.fields if each.since > 1]


NODE_LATER = pytest.mark.parametrize("field", later(NODE), ids=lambda field: field.name)


@NODE_LATER
def test_a_node_field_is_hidden_before_its_version(house: House, field: Field) -> None:
    uuid = house.node()
    before = house.call("GET", f"/nodes/{uuid}", version=f"1.{field.since - 1}").json()
    at = house.call("GET", f"/nodes/{uuid}", version=f"1.{field.since}").json()
    assert (field.name in before, field.name in at) == (False, True)


@NODE_LATER
def test_a_node_field_cannot_be_chosen_before_its_version(house: House, field: Field) -> None:
    uuid = house.node()
    for path in ("/nodes", f"/nodes/{uuid}"):
        answers = [
            house.call("GET", f"{path}?fields={field.name}", version=f"1.{max(minor, 8)}").status_code
            for minor in (field.since - 1, field.since)
        ]
        chosen = 400 if field.whole_only else 200
        assert answers == [chosen if field.whole_only or field.since <= 8 else 406, chosen]


@NODE_LATER
def test_a_node_field_cannot_be_created_before_its_version(house: House, field: Field) -> None:
    answers = [
        house.call("POST", "/nodes", {"driver": "fake-hardware", field.name: value_for(field)}, version=f"1.{minor}")
        for minor in (field.since - 1, field.since)
    ]
    expected = [406, 201] if field.create else [400, 400]
    assert [answer.status_code for answer in answers] == expected, answers[-1].text


@NODE_LATER
def test_a_node_field_cannot_be_patched_before_its_version(house: House, field: Field) -> None:
    uuid = house.node(provision_state="active" if field.name.startswith("protected") else "manageable")
    patch = [{"op": "replace", "path": f"/{field.name}", "value": value_for(field)}]
    answers = [
        house.call("PATCH", f"/nodes/{uuid}", patch, version=f"1.{minor}") for minor in (field.since - 1, field.since)
    ]
    expected = [406, 200] if field.patch else [400 if field.compute else 406, 400]
    assert [answer.status_code for answer in answers] == expected, answers[-1].text


@NODE_LATER
def test_nodes_cannot_be_sorted_by_a_field_before_its_version(house: House, field: Field) -> None:
    answers = [
        house.call("GET", f"/nodes?sort_key={field.name}", version=f"1.{minor}").status_code
        for minor in (field.since - 1, field.since)
    ]
    assert answers == ([406, 200] if field.sort else [400, 400])


@pytest.mark.parametrize("field", later(PORT), ids=lambda field: field.name)
def test_a_port_field_is_refused_and_hidden_before_its_version(house: House, field: Field) -> None:
    node = house.node()
    values: dict[str, Any] = {
        "local_link_connection": {"port_id": "Eth1", "switch_id": "00:11:22:33:44:55"},
        "node_ident": node,
        "portgroup_uuid": None,
    }
    value = values[field.name] if field.name in values else value_for(field)
    body = {"address": "52:54:00:00:00:01", field.name: value}
    body |= {} if field.name == "node_ident" else {"node_uuid": node}
    old, new = (house.call("POST", "/ports", body, version=f"1.{field.since - step}") for step in (1, 0))
    assert [old.status_code, new.status_code] == ([406, 201] if field.create else [400, 400]), new.text
    if field.create and not field.write_only:
        path = f"/ports/{new.json()['uuid']}"
        hidden = house.call("GET", path, version=f"1.{field.since - 1}").json()
        assert (field.name in hidden, field.name in new.json()) == (False, True)


@pytest.mark.parametrize(
    ("resource", "table", "computed"),
    [
        (NODE, Node, {"conductor"}),
        (PORT, Port, {"node_uuid"}),
        (PORTGROUP, Portgroup, {"node_uuid"}),
        (CHASSIS, Chassis, set()),
        (CONNECTOR, VolumeConnector, {"node_uuid"}),
        (TARGET, VolumeTarget, {"node_uuid"}),
        (CONDUCTOR, Conductor, {"alive"}),
        (HISTORY, NodeHistory, set()),
    ],
)
def test_every_field_is_a_column_or_known_to_be_computed(resource: Resource, table: Any, computed: set[str]) -> None:
    names = {name for field in resource.fields for name in field.columns}
    assert names - computed <= set(table.model_fields)


@pytest.mark.parametrize("resource", [NODE, PORT, PORTGROUP, CHASSIS, DRIVER, CONDUCTOR, HISTORY])
def test_no_field_is_newer_than_the_newest_version(resource: Resource) -> None:
    assert all(1 <= each.since <= MAXIMUM for each in resource.fields)


def test_all_provision_states_have_names_for_old_versions(house: House) -> None:
    uuid = house.node(provision_state="available")
    shown = [house.call("GET", f"/nodes/{uuid}", version=f"1.{minor}").json() for minor in (1, 2)]
    assert [each["provision_state"] for each in shown] == [None, "available"]
    house.set(uuid, provision_state="inspect wait")
    shown = [house.call("GET", f"/nodes/{uuid}", version=f"1.{minor}").json() for minor in (38, 39)]
    assert [each["provision_state"] for each in shown] == ["inspecting", "inspect wait"]


def test_chassis_uuid_can_be_unset_from_25_on(house: House) -> None:
    uuid = house.node()
    house.set(uuid, chassis_uuid=UUID)
    patch = [{"op": "remove", "path": "/chassis_uuid"}]
    assert house.call("PATCH", f"/nodes/{uuid}", patch, version="1.24").status_code == 406
    assert house.call("PATCH", f"/nodes/{uuid}", patch, version="1.25").json()["chassis_uuid"] is None

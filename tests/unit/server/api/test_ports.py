# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.api_house import MAC, NODE, PUBLIC, House, fault

OTHER_MAC = "52:54:00:aa:bb:02"
LINK = {"port_id": "Eth1/1", "switch_id": "00:11:22:33:44:55"}


def addresses(house: House, query: str) -> list[str]:
    answer = house.call("GET", f"/ports?{query}")
    assert answer.status_code == 200, answer.text
    return [each["address"][-1] for each in answer.json()["ports"]]


@pytest.fixture
def fleet(house: House) -> House:
    house.conductor("fake-hardware", host="conductor-2.example", group="far")
    one, two = house.node(name="one", shard="s1"), house.node(name="two", conductor_group="far")
    house.port(one, "52:54:00:00:00:01", description="Uplink")
    house.port(one, "52:54:00:00:00:02")
    house.port(two, "52:54:00:00:00:03")
    return house


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", "123"),
        ("node=one", "12"),
        ("address=52:54:00:00:00:03", "3"),
        ("shard=s1", "12"),
        ("conductor_groups=far", "3"),
        ("description_contains=uplink", "1"),
        ("sort_key=address&sort_dir=desc", "321"),
        ("limit=2", "12"),
    ],
)
def test_a_filter_finds_what_it_says(fleet: House, query: str, found: str) -> None:
    assert addresses(fleet, query) == list(found)


@pytest.mark.parametrize("path", ["/nodes/one/ports", "/nodes/one/ports/detail", "/nodes/one/ports?limit=5"])
def test_the_ports_of_a_node_stand_below_it_also_by_name(fleet: House, path: str) -> None:
    assert len(fleet.call("GET", path).json()["ports"]) == 2


def test_following_next_gives_every_port_once(fleet: House) -> None:
    first = fleet.call("GET", "/ports?limit=2&sort_key=address").json()
    assert first["next"].startswith(f"{PUBLIC}/v1/ports?")
    second = fleet.call("GET", f"/ports?{first['next'].partition('?')[2]}").json()
    assert [each["address"][-1] for each in first["ports"] + second["ports"]] == ["1", "2", "3"]
    assert "next" not in second


@pytest.mark.parametrize("ident", ["{uuid}", "port-1"])
def test_a_port_is_found_by_uuid_and_name(house: House, ident: str) -> None:
    uuid = house.port(house.node(), name="port-1")
    assert house.call("GET", f"/ports/{ident.format(uuid=uuid)}").json()["uuid"] == uuid


@pytest.mark.parametrize(
    "fields",
    [
        {"address": "52-54-00-aa-bb-01"},
        {"address": None},
        {"address": 5},
        {"colour": "red"},
        {"internal_info": {}},
        {"physical_network": ""},
        {"physical_network": "x" * 65},
        {"vendor": "x" * 33},
        {"pxe_enabled": None},
        {"portgroup_uuid": NODE},
        {"local_link_connection": {"port_id": "1"}},
        {"local_link_connection": {"port_id": "1", "switch_id": "sw"}},
        {"local_link_connection": {**LINK, "colour": "red"}},
        {"local_link_connection": {**LINK}, "is_smartnic": True},
        {"node_uuid": "22222222-2222-4222-8222-222222222222"},
        {"node_ident": NODE},
    ],
)
def test_a_wrong_port_is_400(house: House, fields: dict[str, Any]) -> None:
    house.node(uuid=NODE)
    answer = house.call("POST", "/ports", {"address": MAC, "node_uuid": NODE, **fields})
    assert answer.status_code == 400, answer.text
    assert house.call("GET", "/ports").json() == {"ports": []}


@pytest.mark.parametrize(
    ("link", "version", "status"),
    [
        ({}, "1.19", 201),
        (LINK, "1.19", 201),
        ({**LINK, "switch_id": "0x1234567890abcdef", "switch_info": "sw"}, "1.115", 201),
        ({"port_id": "1", "hostname": "nic"}, "1.115", 201),
        ({"network_type": "unmanaged"}, "1.63", 406),
        ({"network_type": "unmanaged"}, "1.64", 201),
        ({"port_id": "1", "vtep-logical-switch": "l", "vtep-physical-switch": "p"}, "1.89", 406),
        ({"port_id": "1", "vtep-logical-switch": "l", "vtep-physical-switch": "p"}, "1.104", 201),
        ({"port_id": "1", "vtep-logical-switch": "l", "vtep-physical-switch": "p"}, "1.105", 406),
    ],
)
def test_link_connections_have_known_forms(house: House, link: dict[str, str], version: str, status: int) -> None:
    body = {"address": MAC, "node_uuid": house.node(), "local_link_connection": link}
    assert house.call("POST", "/ports", body, version=version).status_code == status


def test_a_port_may_name_its_node(house: House) -> None:
    uuid = house.node(name="one")
    answer = house.call("POST", "/ports", {"address": MAC.upper(), "node_ident": "one"})
    assert (answer.json()["node_uuid"], answer.json()["address"]) == (uuid, MAC)
    assert "node_ident" not in answer.json()
    assert answer.headers["Location"] == f"{PUBLIC}/v1/ports/{answer.json()['uuid']}"


@pytest.mark.parametrize("field", [{"address": MAC}, {"name": "p"}, {"uuid": NODE}])
def test_what_must_be_unique_is_409_the_second_time(house: House, field: dict[str, str]) -> None:
    node = house.node()
    house.port(node, name="p", uuid=NODE)
    answer = house.call("POST", "/ports", {"address": OTHER_MAC, "node_uuid": node, **field})
    assert (answer.status_code, next(iter(field.values())) in fault(answer)) == (409, True)


@pytest.mark.parametrize(
    ("columns", "patch", "status"),
    [
        ({"provision_state": "enroll"}, ("/pxe_enabled", False), 200),
        ({"provision_state": "enroll"}, ("/address", OTHER_MAC), 200),
        ({"provision_state": "enroll"}, ("/internal_info", {}), 400),
        ({"provision_state": "enroll"}, ("/physical_network", ""), 400),
        ({"provision_state": "active"}, ("/address", OTHER_MAC), 409),
        ({"provision_state": "active"}, ("/physical_network", "p"), 409),
        ({"provision_state": "active"}, ("/extra", {"a": 1}), 200),
        ({"provision_state": "available"}, ("/pxe_enabled", False), 409),
        ({"provision_state": "available", "instance_uuid": NODE}, ("/address", OTHER_MAC), 409),
        ({"provision_state": "available", "maintenance": True}, ("/pxe_enabled", False), 200),
        ({"provision_state": "inspecting"}, ("/extra", {"a": 1}), 409),
        ({"provision_state": "manageable", "reservation": "host"}, ("/extra", {"a": 1}), 409),
    ],
)
def test_a_port_changes_when_its_node_allows_it(
    house: House, columns: dict[str, Any], patch: tuple[str, Any], status: int
) -> None:
    node = house.node()
    uuid = house.port(node)
    house.set(node, **columns)
    operations = [{"op": "replace", "path": patch[0], "value": patch[1]}]
    answer = house.call("PATCH", f"/ports/{uuid}", operations)
    assert answer.status_code == status, answer.text
    assert (house.call("GET", f"/ports/{uuid}").json()[patch[0][1:]] == patch[1]) == (
        status == 200 or patch[0] == "/internal_info"
    )


def test_a_port_moves_to_another_node(house: House) -> None:
    one, two = house.node(), house.node()
    uuid = house.port(one)
    patch = [{"op": "replace", "path": "/node_uuid", "value": two}]
    assert house.call("PATCH", f"/ports/{uuid}", patch).json()["node_uuid"] == two
    assert house.call("GET", f"/nodes/{two}/ports").json()["ports"][0]["uuid"] == uuid


def test_removal_needs_the_uuid_and_an_unlocked_node(house: House) -> None:
    node = house.node()
    uuid = house.port(node, name="p")
    assert house.call("DELETE", "/ports/p").status_code == 400
    house.set(node, reservation="host")
    assert house.call("DELETE", f"/ports/{uuid}").status_code == 409
    house.set(node, reservation=None)
    assert house.call("DELETE", f"/ports/{uuid}").status_code == 204
    assert house.call("DELETE", f"/ports/{uuid}").status_code == 404

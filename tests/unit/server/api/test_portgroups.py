# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import event

from tests.unit.server.api_house import MAC, NODE, PUBLIC, House, fault

OTHER_MAC = "52:54:00:aa:bb:02"


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory) -> House:
    return House(tmp_path_factory.mktemp("rack"))


@pytest.fixture
def house(rack: House) -> Iterator[House]:
    yield rack
    rack.clear()


def group(house: House, node: str, **fields: Any) -> str:
    answer = house.call("POST", "/portgroups", {"node_uuid": node, **fields})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["uuid"])


def patched(house: House, path: str, field: str, value: Any, **more: Any) -> int:
    return house.call("PATCH", path, [{"op": "add", "path": f"/{field}", "value": value}], **more).status_code


def shown(house: House, path: str, field: str) -> Any:
    return house.call("GET", path).json()[field]


@pytest.fixture
def fleet(house: House) -> House:
    house.conductor("fake-hardware", host="conductor-2.example", group="far")
    one, two = house.node(name="one", shard="s1"), house.node(name="two", conductor_group="far")
    group(house, one, name="a", address="52:54:00:00:00:01")
    group(house, one, name="b")
    group(house, two, name="c")
    return house


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/portgroups", "abc"),
        ("/portgroups/detail", "abc"),
        ("/portgroups?node=one", "ab"),
        ("/portgroups?address=52:54:00:00:00:01", "a"),
        ("/portgroups?shard=s1", "ab"),
        ("/portgroups?conductor_groups=far", "c"),
        ("/portgroups?sort_key=name&sort_dir=desc", "cba"),
        ("/nodes/one/portgroups", "ab"),
        ("/nodes/one/portgroups/detail?limit=1", "a"),
        ("/nodes/one/portgroups?address=52:54:00:00:00:01", "a"),
    ],
)
def test_a_list_holds_what_it_says(fleet: House, path: str, found: str) -> None:
    assert [each["name"] for each in fleet.call("GET", path).json()["portgroups"]] == list(found)


@pytest.mark.parametrize(
    ("path", "version", "status"),
    [
        ("/portgroups", "1.22", 404),
        ("/portgroups", "1.23", 200),
        ("/portgroups/a", "1.22", 404),
        ("/portgroups?detail=true", "1.42", 400),
        ("/portgroups?shard=s1", "1.105", 406),
        ("/portgroups?node=one&address=52:54:00:00:00:01", "1.115", 400),
        ("/portgroups?node=nobody", "1.115", 404),
        ("/portgroups?colour=red", "1.115", 400),
        ("/portgroups/nothing", "1.115", 404),
        ("/portgroups/no thing", "1.115", 400),
        ("/nodes/one/portgroups", "1.23", 404),
        ("/nodes/one/portgroups", "1.24", 200),
        ("/nodes/nobody/portgroups", "1.115", 404),
        ("/portgroups/a/ports", "1.23", 404),
        ("/portgroups/a/ports", "1.24", 200),
        ("/portgroups/nothing/ports", "1.115", 404),
    ],
)
def test_a_list_that_cannot_be_is_refused(fleet: House, path: str, version: str, status: int) -> None:
    assert fleet.call("GET", path, version=version).status_code == status


def test_following_next_gives_every_group_once(fleet: House) -> None:
    first = fleet.call("GET", "/portgroups?limit=2&fields=name").json()
    assert first["next"].startswith(f"{PUBLIC}/v1/portgroups?")
    second = fleet.call("GET", f"/portgroups?{first['next'].partition('?')[2]}").json()
    assert [each["name"] for each in first["portgroups"] + second["portgroups"]] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("fields", "version", "status"),
    [
        ({}, "1.22", 404),
        ({}, "1.23", 201),
        ({"mode": "802.3ad"}, "1.25", 406),
        ({"properties": {"miimon": "100"}}, "1.25", 406),
        ({"mode": "802.3ad", "properties": {"miimon": "100"}}, "1.26", 201),
        ({"physical_network": "p"}, "1.101", 406),
        ({"physical_network": "p" * 65}, "1.115", 400),
        ({"category": "c"}, "1.102", 406),
        ({"category": "c" * 81}, "1.115", 400),
        ({"dynamic_portgroup": True}, "1.115", 400),
        ({"internal_info": {}}, "1.115", 400),
        ({"name": NODE}, "1.115", 400),
        ({"name": "no name"}, "1.115", 400),
        ({"address": "nonsense"}, "1.115", 400),
        ({"node_uuid": "22222222-2222-4222-8222-222222222222"}, "1.115", 400),
        ({"node_uuid": None}, "1.115", 400),
    ],
)
def test_a_group_is_created_or_refused(house: House, fields: dict[str, Any], version: str, status: int) -> None:
    house.node(uuid=NODE)
    answer = house.call("POST", "/portgroups", {"node_uuid": NODE, **fields}, version=version)
    assert answer.status_code == status, answer.text
    assert len(house.call("GET", "/portgroups").json()["portgroups"]) == (status == 201)


def test_a_group_of_a_locked_node_is_409(house: House) -> None:
    node = house.node()
    one = group(house, node)
    house.set(node, reservation="host")
    assert house.call("POST", "/portgroups", {"node_uuid": node}).status_code == 409
    assert patched(house, f"/portgroups/{one}", "extra", {"a": 1}) == 409
    assert house.call("DELETE", f"/portgroups/{one}").status_code == 409


@pytest.mark.parametrize("field", [{"address": MAC}, {"name": "g"}, {"uuid": NODE}])
def test_what_must_be_unique_is_409_the_second_time(house: House, field: dict[str, str]) -> None:
    node = house.node()
    group(house, node, name="g", uuid=NODE, address=MAC)
    answer = house.call("POST", "/portgroups", {"node_uuid": node, **field})
    assert (answer.status_code, next(iter(field.values())) in fault(answer)) == (409, True)


@pytest.mark.parametrize(
    ("columns", "operation", "status"),
    [
        ({}, ("add", "/mode", "802.3ad"), 200),
        ({}, ("remove", "/mode", None), 400),
        ({}, ("remove", "/physical_network", None), 200),
        ({}, ("remove", "/address", None), 200),
        ({}, ("add", "/name", "x y"), 400),
        ({}, ("add", "/dynamic_portgroup", True), 400),
        ({"provision_state": "active"}, ("add", "/properties/miimon", "100"), 200),
        ({"provision_state": "inspecting"}, ("add", "/extra", {"a": 1}), 409),
    ],
)
def test_a_group_changes_when_it_may(
    house: House, columns: dict[str, Any], operation: tuple[str, str, Any], status: int
) -> None:
    node = house.node()
    one = group(house, node, address=MAC, physical_network="p")
    house.set(node, **columns)
    op, path, value = operation
    answer = house.call("PATCH", f"/portgroups/{one}", [{"op": op, "path": path, "value": value}])
    assert answer.status_code == status, answer.text


def test_old_versions_patch_neither_mode_nor_properties(house: House) -> None:
    group(house, house.node(), name="g")
    assert patched(house, "/portgroups/g", "mode", "802.3ad", version="1.25") == 406
    assert patched(house, "/portgroups/g", "name", "h", version="1.25") == 200


def test_a_group_moves_to_another_node_while_it_is_empty_and_its_node_is_free(house: House) -> None:
    one, two = house.node(), house.node()
    group(house, one, name="g")
    house.set(one, provision_state="active")
    assert patched(house, "/portgroups/g", "node_uuid", two) == 409
    house.set(one, provision_state="manageable")
    port = house.port(one, portgroup_uuid=shown(house, "/portgroups/g", "uuid"))
    assert patched(house, "/portgroups/g", "node_uuid", two) == 400
    assert patched(house, f"/ports/{port}", "portgroup_uuid", None) == 200
    assert patched(house, "/portgroups/g", "node_uuid", two) == 200
    assert shown(house, "/portgroups/g", "node_uuid") == two


def test_a_group_with_ports_is_not_removed(house: House) -> None:
    node = house.node()
    one = group(house, node, name="g")
    port = house.port(node, portgroup_uuid=one)
    answer = house.call("DELETE", "/portgroups/g")
    assert (answer.status_code, "has ports" in fault(answer)) == (400, True)
    assert house.call("DELETE", f"/ports/{port}").status_code == 204
    assert house.call("DELETE", "/portgroups/g").status_code == 204
    assert house.call("DELETE", "/portgroups/g").status_code == 404


@pytest.mark.parametrize("path", ["/portgroups/g/ports", "/portgroups/g/ports/detail", "/ports?portgroup=g"])
def test_the_ports_of_a_group_are_listed_by_its_name_too(house: House, path: str) -> None:
    node = house.node()
    one = group(house, node, name="g")
    port = house.port(node, MAC, portgroup_uuid=one)
    house.port(node, OTHER_MAC)
    assert [each["uuid"] for each in house.call("GET", path).json()["ports"]] == [port]
    assert house.call("GET", path.replace("g/ports", "none/ports").replace("=g", "=none")).status_code == 404


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/portgroups/g/ports/{port}"),
        ("POST", "/portgroups/g/ports"),
        ("DELETE", "/nodes/one/ports/{port}"),
        ("PATCH", "/nodes/one/portgroups/g"),
        ("GET", "/nodes/one/volume/targets/x"),
    ],
)
def test_items_below_another_resource_are_400(house: House, method: str, path: str) -> None:
    node = house.node(name="one")
    port = house.port(node, portgroup_uuid=group(house, node, name="g"))
    answer = house.call(method, path.format(port=port), [] if method == "PATCH" else None)
    assert (answer.status_code, "/v1/" in fault(answer)) == (400, True)


def test_a_port_joins_only_a_group_of_its_own_node(house: House) -> None:
    one, two = house.node(), house.node()
    mine, theirs = group(house, one), group(house, two)
    body = {"node_uuid": one, "address": MAC}
    assert house.call("POST", "/ports", {**body, "portgroup_uuid": NODE}).status_code == 400
    assert house.call("POST", "/ports", {**body, "portgroup_uuid": theirs}).status_code == 400
    port = house.port(one, portgroup_uuid=mine)
    assert patched(house, f"/ports/{port}", "portgroup_uuid", theirs) == 400
    assert patched(house, f"/ports/{port}", "node_uuid", two) == 400
    both = [{"op": "add", "path": f"/{name}", "value": value} for name, value in (("node_uuid", two),)]
    both += [{"op": "add", "path": "/portgroup_uuid", "value": theirs}]
    assert house.call("PATCH", f"/ports/{port}", both).json()["portgroup_uuid"] == theirs


def test_ports_of_a_group_without_standalone_ports_do_not_boot_from_the_network(house: House) -> None:
    node = house.node()
    one = group(house, node, standalone_ports_supported=False)
    body = {"node_uuid": node, "address": MAC, "portgroup_uuid": one}
    assert house.call("POST", "/ports", body).status_code == 409
    port = house.port(node, portgroup_uuid=one, pxe_enabled=False)
    assert patched(house, f"/ports/{port}", "pxe_enabled", True) == 409
    assert patched(house, f"/portgroups/{one}", "standalone_ports_supported", True) == 200
    assert patched(house, f"/ports/{port}", "pxe_enabled", True) == 200
    answer = house.call(
        "PATCH", f"/portgroups/{one}", [{"op": "replace", "path": "/standalone_ports_supported", "value": False}]
    )
    assert (answer.status_code, "pxe_enabled" in fault(answer)) == (409, True)


def test_all_ports_of_a_group_are_in_one_physical_network(house: House) -> None:
    node = house.node()
    one = group(house, node)
    port = house.port(node, MAC, portgroup_uuid=one, physical_network="p")
    body = {"node_uuid": node, "address": OTHER_MAC, "portgroup_uuid": one}
    assert house.call("POST", "/ports", body).status_code == 409
    answer = house.call("POST", "/ports", {**body, "physical_network": "q"})
    assert (answer.status_code, "physical network p" in fault(answer)) == (409, True)
    house.port(node, OTHER_MAC, portgroup_uuid=one, physical_network="p")
    assert patched(house, f"/ports/{port}", "physical_network", "q", version="1.101") == 409
    assert patched(house, f"/ports/{port}", "physical_network", "q") == 400


def test_the_physical_network_of_a_group_is_that_of_its_ports(house: House) -> None:
    node = house.node()
    one = group(house, node, physical_network="p")
    port = house.port(node, portgroup_uuid=one)
    assert shown(house, f"/ports/{port}", "physical_network") == "p"
    assert patched(house, f"/portgroups/{one}", "physical_network", "q") == 200
    assert shown(house, f"/ports/{port}", "physical_network") == "q"
    remove = [{"op": "remove", "path": "/physical_network"}]
    assert house.call("PATCH", f"/portgroups/{one}", remove).json()["physical_network"] is None
    assert shown(house, f"/ports/{port}", "physical_network") is None
    other = house.port(node, OTHER_MAC, physical_network="r")
    assert patched(house, f"/portgroups/{one}", "physical_network", "q") == 200
    assert patched(house, f"/ports/{other}", "portgroup_uuid", one) == 409


def test_a_port_that_leaves_its_group_may_change_its_network_at_once(house: House) -> None:
    node = house.node()
    port = house.port(node, portgroup_uuid=group(house, node, physical_network="p"))
    leave = [{"op": "add", "path": "/portgroup_uuid", "value": None}]
    leave += [{"op": "add", "path": "/physical_network", "value": "q"}]
    answer = house.call("PATCH", f"/ports/{port}", leave).json()
    assert (answer["portgroup_uuid"], answer["physical_network"]) == (None, "q")


def test_a_longer_list_takes_no_more_queries(house: House) -> None:
    node, asked = house.node(), []
    paths = ("/portgroups/detail", f"/nodes/{node}/portgroups", "/ports/detail", "/volume/connectors?detail=true")

    def note(*seen: Any) -> None:
        asked.append(seen[2])

    counts = []
    for number in range(2):
        for each in range(1 + 9 * number):
            port = house.port(node, f"52:54:00:00:0{number}:0{each}", portgroup_uuid=group(house, node))
            body = {"node_uuid": node, "type": "port", "connector_id": port}
            assert house.call("POST", "/volume/connectors", body).status_code == 201
        asked.clear()
        event.listen(house.parts.engine, "before_cursor_execute", note)
        assert [house.call("GET", path).status_code for path in paths] == [200] * len(paths)
        event.remove(house.parts.engine, "before_cursor_execute", note)
        counts.append(len(asked))
    assert counts[0] == counts[1] > 0


def test_the_default_mode_is_a_setting(tmp_path_factory: pytest.TempPathFactory) -> None:
    house = House(tmp_path_factory.mktemp("other"), default_portgroup_mode="802.3ad")
    group(house, house.node(), name="g")
    assert shown(house, "/portgroups/g", "mode") == "802.3ad"


def test_a_node_takes_what_belongs_to_it_along(house: House) -> None:
    node = house.node()
    house.port(node, portgroup_uuid=group(house, node))
    for path, body in (
        ("connectors", {"type": "iqn", "connector_id": "a"}),
        ("targets", {"volume_type": "iscsi", "volume_id": "v", "boot_index": 0}),
    ):
        assert house.call("POST", f"/volume/{path}", {"node_uuid": node, **body}).status_code == 201
    assert house.call("DELETE", f"/nodes/{node}").status_code == 204
    for path in ("ports", "portgroups", "volume/connectors", "volume/targets"):
        assert list(house.call("GET", f"/{path}").json().values()) == [[]]

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlmodel import select

from rackwright.store.session import reading
from rackwright.store.volume import VolumeTarget
from tests.unit.server.api_house import NODE, PUBLIC, House, fault
from tests.unit.server.keystone_house import GuardedHouse, identity_service

CONNECTOR = {"node_uuid": NODE, "type": "iqn", "connector_id": "iqn.2026-01.example:a"}
TARGET = {"node_uuid": NODE, "volume_type": "iscsi", "volume_id": "vol-1", "boot_index": 0}
BODIES: dict[str, dict[str, Any]] = {"connectors": CONNECTOR, "targets": TARGET}
BOTH = pytest.mark.parametrize("kind", BODIES)


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory) -> House:
    return House(tmp_path_factory.mktemp("rack"))


@pytest.fixture
def house(rack: House) -> Iterator[House]:
    rack.node(uuid=NODE, name="one", power_state="power off", provision_state="available")
    yield rack
    rack.clear()


def made(house: House, kind: str, **fields: Any) -> str:
    answer = house.call("POST", f"/volume/{kind}", BODIES[kind] | fields)
    assert answer.status_code == 201, answer.text
    assert answer.headers["Location"] == f"{PUBLIC}/v1/volume/{kind}/{answer.json()['uuid']}"
    return str(answer.json()["uuid"])


def operation(path: str, value: Any) -> list[dict[str, Any]]:
    return [{"op": "add", "path": path, "value": value}]


@BOTH
def test_lists_are_those_of_all_nodes_or_of_one(house: House, kind: str) -> None:
    other = {"connector_id": "b"} if kind == "connectors" else {}
    one, two = made(house, kind), made(house, kind, node_uuid=house.node(name="two"), **other)
    for path, found in (
        (f"/volume/{kind}", [one, two]),
        (f"/volume/{kind}?node=two", [two]),
        (f"/volume/{kind}?sort_key=created_at&sort_dir=desc&limit=1", [two]),
        (f"/nodes/one/volume/{kind}", [one]),
        (f"/nodes/{NODE}/volume/{kind}?detail=true", [one]),
    ):
        assert [each["uuid"] for each in house.call("GET", path).json()[kind]] == found, path
    detail = house.call("GET", f"/volume/{kind}?detail=True", version="1.32").json()[kind][0]
    assert detail == house.call("GET", f"/volume/{kind}/{one}").json()
    assert set(house.call("GET", f"/volume/{kind}?fields=extra").json()[kind][0]) == {"extra", "links"}


@BOTH
@pytest.mark.parametrize(
    ("path", "version", "status"),
    [
        ("/volume", "1.31", 404),
        ("/volume/{kind}", "1.31", 404),
        ("/nodes/one/volume", "1.31", 404),
        ("/nodes/one/volume/{kind}", "1.31", 404),
        ("/volume/nothing", "1.115", 404),
        ("/volume/{kind}/detail", "1.115", 400),
        ("/volume/{kind}/" + NODE, "1.115", 404),
        ("/volume/{kind}?node=nobody", "1.115", 404),
        ("/volume/{kind}?colour=red", "1.115", 400),
        ("/volume/{kind}?fields=uuid&detail=true", "1.115", 400),
        ("/volume/{kind}?marker=" + NODE, "1.115", 404),
        ("/nodes/nobody/volume/{kind}", "1.115", 404),
    ],
)
def test_what_is_not_there_is_refused(house: House, kind: str, path: str, version: str, status: int) -> None:
    assert house.call("GET", path.format(kind=kind), version=version).status_code == status


def test_the_contents_of_a_node_are_linked(house: House) -> None:
    found = house.call("GET", "/nodes/one/volume").json()
    assert {name: links[0]["href"] for name, links in found.items()} == {
        "links": f"{PUBLIC}/v1/nodes/{NODE}/volume/",
        "connectors": f"{PUBLIC}/v1/nodes/{NODE}/volume/connectors",
        "targets": f"{PUBLIC}/v1/nodes/{NODE}/volume/targets",
    }


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("connectors", {"node_uuid": None}),
        ("connectors", {"node_uuid": "22222222-2222-4222-8222-222222222222"}),
        ("connectors", {"type": None}),
        ("connectors", {"type": "x" * 33}),
        ("connectors", {"connector_id": 5}),
        ("connectors", {"connector_id": "x" * 256}),
        ("connectors", {"colour": "red"}),
        ("targets", {"node_uuid": "one"}),
        ("targets", {"boot_index": "first"}),
        ("targets", {"boot_index": 2**40}),
        ("targets", {"boot_index": True}),
        ("targets", {"volume_id": "x" * 37}),
        ("targets", {"volume_type": None}),
        ("targets", {"properties": []}),
    ],
)
def test_a_wrong_one_is_400(house: House, kind: str, fields: dict[str, Any]) -> None:
    assert house.call("POST", f"/volume/{kind}", BODIES[kind] | fields).status_code == 400
    assert house.call("GET", f"/volume/{kind}").json() == {kind: []}


@BOTH
def test_what_must_be_unique_is_409_the_second_time(house: House, kind: str) -> None:
    made(house, kind, uuid=NODE)
    free = {"connector_id": "b"} if kind == "connectors" else {"boot_index": 1}
    for fields in ({}, free | {"uuid": NODE}):
        assert house.call("POST", f"/volume/{kind}", BODIES[kind] | fields).status_code == 409
    other = made(house, kind, **free)
    (name,) = free
    patch = operation(f"/{name}", BODIES[kind][name])
    assert house.call("PATCH", f"/volume/{kind}/{other}", patch).status_code == 409


@BOTH
@pytest.mark.parametrize(
    ("columns", "changed", "removed"),
    [
        ({"power_state": "power off"}, 200, 204),
        ({"power_state": "power on"}, 400, 400),
        ({"power_state": None}, 400, 400),
        ({"power_state": None, "provision_state": "enroll"}, 400, 204),
        ({"power_state": "power on", "provision_state": "manageable"}, 400, 204),
        ({"power_state": "power on", "provision_state": "adopt failed"}, 400, 204),
        ({"power_state": "power on", "provision_state": "active"}, 400, 400),
        ({"power_state": "power off", "reservation": "host"}, 409, 409),
    ],
)
def test_a_volume_changes_while_the_power_is_off(
    house: House, kind: str, columns: dict[str, Any], changed: int, removed: int
) -> None:
    one = made(house, kind)
    house.set(NODE, **columns)
    patch = house.call("PATCH", f"/volume/{kind}/{one}", operation("/extra/a", 1))
    assert (patch.status_code, patch.status_code == 200 or fault(patch) != "") == (changed, True)
    assert house.call("GET", f"/volume/{kind}/{one}").json()["extra"] == ({"a": 1} if changed == 200 else {})
    assert house.call("DELETE", f"/volume/{kind}/{one}").status_code == removed


@BOTH
def test_a_volume_moves_to_a_node_that_is_off_too(house: House, kind: str) -> None:
    one, node = made(house, kind), house.node(power_state="power on")
    path = f"/volume/{kind}/{one}"
    assert house.call("PATCH", path, operation("/node_uuid", node)).status_code == 400
    house.set(node, power_state="power off")
    assert house.call("PATCH", path, operation("/node_uuid", node)).json()["node_uuid"] == node
    assert house.call("PATCH", path, operation("/uuid", node)).status_code == 400


def test_secrets_of_properties_are_sealed_in_the_row_and_masked_in_answers(house: House) -> None:
    one = made(house, "targets", properties={"target_lun": 0, "auth_password": "hush"})
    path = f"/volume/targets/{one}"
    changed = house.call("PATCH", path, operation("/properties/target_portal", "10.0.0.1:3260")).json()
    assert changed["properties"] == {"target_lun": 0, "auth_password": "******", "target_portal": "10.0.0.1:3260"}
    assert house.call("GET", "/volume/targets?detail=true").json()["targets"][0]["properties"] == changed["properties"]
    with reading(house.parts.engine) as session:
        stored = session.exec(select(VolumeTarget)).one().properties
    assert "hush" not in str(stored)
    assert house.parts.sealer.unseal(stored)["auth_password"] == "hush"


def test_secrets_are_not_copied_out_of_the_properties(house: House) -> None:
    one = made(house, "targets", properties={"auth_password": "hush"})
    copy = [{"op": "copy", "from": "/properties/auth_password", "path": "/extra/seen"}]
    assert house.call("PATCH", f"/volume/targets/{one}", copy).status_code == 400


def test_properties_are_hidden_from_those_who_may_not_see_them(tmp_path: Path) -> None:
    with identity_service() as keystone:
        house = GuardedHouse(tmp_path, keystone)
        body = {"driver": "fake-hardware", "owner": "p1", "uuid": NODE}
        assert house.call("POST", "/nodes", body, who="admin@system").status_code == 201
        made_by_owner = house.call("POST", "/volume/targets", TARGET | {"properties": {"lun": 7}}, who="admin@p1")
        assert (made_by_owner.status_code, made_by_owner.json()["properties"]) == (201, {"lun": 7})
        one = made_by_owner.json()["uuid"]
        for path in (f"/volume/targets/{one}", "/volume/targets?fields=properties", "/volume/targets?detail=true"):
            found = house.call("GET", path, who="reader@p1").json()
            (shown,) = found.get("targets", [found])
            assert list(shown["properties"]) == ["redacted_contents"]
        assert house.call("GET", f"/volume/targets/{one}", who="admin@p2").status_code == 404
        assert house.call("GET", "/volume/targets", who="admin@p2").json() == {"targets": []}
        assert house.call("POST", "/volume/targets", TARGET | {"boot_index": 1}, who="admin@p2").status_code == 400

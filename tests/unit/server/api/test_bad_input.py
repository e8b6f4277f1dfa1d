# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy.exc import OperationalError

from rackwright.api.gate import depth
from rackwright.api.v1 import nodes as node_router
from tests.unit.server.api_house import LATEST, House, fault

JSON = {"Content-Type": "application/json"}


def nested(levels: int) -> bytes:
    return b'{"driver": "fake-hardware", "extra": {"a": ' + b"[" * levels + b"]" * levels + b"}}"


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"{broken",
        b'{"driver": "fake-hardware"',
        b'{"driver": "fake-hardware",}',
        b'{"driver": NaN}',
        b'{"driver": Infinity}',
        b'{"driver": "\xff\xfe"}',
        b'{"driver": "\\ud800"}',
        b'{"driver": "fake-hardware", "name": "a\\u0000b"}',
        b'{"driver": "fake-hardware", "extra": {"a\\u0000": 1}}',
        b"\xff\xfe",
        b"[]",
        b'"text"',
        b"null",
        b"7",
        b"",
        nested(26),
    ],
)
def test_a_body_that_is_no_node_is_400(house: House, body: bytes) -> None:
    answer = house.call("POST", "/nodes", content=body, headers=JSON)
    assert answer.status_code == 400, answer.text
    assert house.call("GET", "/nodes").json() == {"nodes": []}


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ({}, "driver"),
        ({"driver": None}, "driver"),
        ({"driver": 5}, "driver"),
        ({"driver": ["fake-hardware"]}, "driver"),
        ({"driver": "nope"}, "nope"),
        ({"driver": "fake-hardware", "colour": "red"}, "colour"),
        ({"driver": "fake-hardware", "provision_state": "active"}, "provision_state"),
        ({"driver": "fake-hardware", "protected": True}, "protected"),
        ({"driver": "fake-hardware", "traits": []}, "traits"),
        ({"driver": "fake-hardware", "uuid": "not-a-uuid"}, "uuid"),
        ({"driver": "fake-hardware", "uuid": None}, "uuid"),
        ({"driver": "fake-hardware", "name": "a b"}, "name"),
        ({"driver": "fake-hardware", "name": "a/b"}, "name"),
        ({"driver": "fake-hardware", "name": ""}, "name"),
        ({"driver": "fake-hardware", "name": "x" * 256}, "name"),
        ({"driver": "fake-hardware", "name": "11111111-1111-4111-8111-111111111111"}, "UUID"),
        ({"driver": "fake-hardware", "name": "detail"}, "detail"),
        ({"driver": "fake-hardware", "driver_info": []}, "driver_info"),
        ({"driver": "fake-hardware", "driver_info": None}, "driver_info"),
        ({"driver": "fake-hardware", "driver_info": {"x": {"$sealed": "y"}}}, "$sealed"),
        ({"driver": "fake-hardware", "extra": {"$sealed": "y"}}, "$sealed"),
        ({"driver": "fake-hardware", "maintenance": "perhaps"}, "maintenance"),
        ({"driver": "fake-hardware", "maintenance": 1}, "maintenance"),
        ({"driver": "fake-hardware", "resource_class": "x" * 81}, "resource_class"),
        ({"driver": "fake-hardware", "description": "x" * 4097}, "description"),
        ({"driver": "fake-hardware", "instance_name": ""}, "instance_name"),
        ({"driver": "fake-hardware", "network_data": {"links": []}}, "network_data"),
        ({"driver": "fake-hardware", "network_data": {"links": ["x"], "networks": [], "services": []}}, "network_data"),
        ({"driver": "fake-hardware", "power_interface": "redfish"}, "power_interface"),
        ({"driver": "fake-hardware", "chassis_uuid": "11111111-1111-4111-8111-111111111111"}, "Chassis"),
        ({"driver": "fake-hardware", "conductor_group": "far"}, "far"),
        ({"driver": "fake-hardware", "parent_node": "nobody"}, "nobody"),
        ({"driver": "fake-hardware", "retired_reason": "old"}, "retired_reason is only possible when retired is true"),
        ({"driver": "fake-hardware", "retired": False, "retired_reason": "old"}, "retired_reason"),
    ],
)
def test_a_wrong_field_is_400_and_named(house: House, body: Any, hint: str) -> None:
    answer = house.call("POST", "/nodes", body)
    assert answer.status_code == 400, answer.text
    assert hint in fault(answer)


def test_a_node_may_be_retired_from_its_beginning_with_a_reason(house: House) -> None:
    body = {"driver": "fake-hardware", "retired": True, "retired_reason": "old"}
    assert house.call("POST", "/nodes", body).json()["retired_reason"] == "old"


@pytest.mark.parametrize("text", ["true", "T", "on", "YES", "1"])
def test_booleans_may_be_texts(house: House, text: str) -> None:
    assert house.call("POST", "/nodes", {"driver": "fake-hardware", "retired": text}).json()["retired"] is True


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nodes?colour=red", 400),
        ("/nodes?limit=0", 400),
        ("/nodes?limit=-1", 400),
        ("/nodes?limit=many", 400),
        ("/nodes?sort_dir=up", 400),
        ("/nodes?sort_key=colour", 400),
        ("/nodes?sort_key=driver_info", 400),
        ("/nodes?marker=11111111-1111-4111-8111-111111111111", 404),
        ("/nodes?fields=colour", 400),
        ("/nodes?fields=uuid&detail=true", 400),
        ("/nodes?detail=perhaps", 400),
        ("/nodes?provision_state=flying", 400),
        ("/nodes?fault=bad", 400),
        ("/nodes?associated=perhaps", 400),
        ("/nodes?instance_uuid=x", 400),
        ("/nodes?driver=a%00b", 400),
        ("/nodes/a%00b", 400),
        ("/nodes/a b", 400),
        ("/nodes/unknown", 404),
        ("/nodes/unknown/states", 404),
        ("/nodes/detail?fields=uuid", 400),
        ("/ports?node=unknown", 404),
        ("/ports?address=xx", 400),
        ("/ports?node=11111111-1111-4111-8111-111111111111&shard=a", 403),
        ("/ports/unknown", 404),
        ("/drivers/unknown", 404),
        ("/drivers?type=old", 400),
        ("/conductors/unknown", 404),
        ("/conductors?sort_key=alive", 400),
    ],
)
def test_a_wrong_question_is_told_so(house: House, path: str, status: int) -> None:
    answer = house.call("GET", path)
    assert answer.status_code == status, answer.text
    assert fault(answer)


def test_detail_is_wrong_before_43_and_fields_not_acceptable_before_8(house: House) -> None:
    assert house.call("GET", "/nodes?detail=true", version="1.42").status_code == 400
    assert house.call("GET", "/nodes?fields=uuid", version="1.7").status_code == 406


def test_a_body_that_is_too_large_is_413_before_it_is_read(house: House) -> None:
    large = b'{"driver": "' + b"x" * 1024 * 1024 + b'"}'
    answer = house.call("POST", "/nodes", content=large, headers=JSON)
    assert (answer.status_code, answer.json()["faultcode"]) == (413, "Client")


def test_a_body_of_unknown_length_is_cut_off_at_the_limit(house: House) -> None:
    def chunks() -> Iterator[bytes]:
        for _ in range(64):
            yield b"[" + b" " * 65535

    answer = house.client.post("/v1/nodes", content=chunks(), headers=JSON)
    assert answer.status_code == 413


def test_provision_requests_may_be_larger(house: House) -> None:
    uuid = house.node()
    body = {"target": "active", "configdrive": "QUJD" * 512 * 1024}
    assert house.call("PUT", f"/nodes/{uuid}/states/provision", body).status_code == 400  # the state, not the size


def test_bodies_may_be_25_levels_deep_and_no_deeper(house: House) -> None:
    assert house.call("POST", "/nodes", content=nested(23), headers=JSON).status_code == 201
    answer = house.call("POST", "/nodes", content=nested(24), headers=JSON)
    assert (answer.status_code, answer.json()["faultcode"]) == (400, "Client")


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ('{"a": [1, {"b": []}]}', 4),
        ('"[[[["', 0),
        (r'{"a\"[[": "]]\\"}', 1),
        ("", 0),
        ("]]", 0),
    ],
)
def test_brackets_in_texts_are_not_levels(text: str, levels: int) -> None:
    assert max(depth(text.encode()), 0) == levels


def test_an_escaped_backslash_before_u0000_is_no_nul(house: House) -> None:
    body = rb'{"driver": "fake-hardware", "description": "a\\u0000"}'
    assert house.call("POST", "/nodes", content=body, headers=JSON).json()["description"] == r"a\u0000"


def test_arguments_are_read_from_json_only(house: House) -> None:
    uuid = house.node()
    answer = house.call(
        "PUT",
        f"/nodes/{uuid}/states/provision",
        content=b'{"target": "manage"}',
        headers={"Content-Type": "text/plain"},
    )
    assert (answer.status_code, "target" in fault(answer)) == (400, True)


def test_fault_messages_are_texts_that_hold_json(house: House) -> None:
    message = house.call("GET", "/nodes/unknown").json()["error_message"]
    assert json.loads(message) == {
        "faultcode": "Client",
        "faultstring": "Node unknown could not be found.",
        "debuginfo": None,
    }


def test_an_unforeseen_error_shows_nothing_of_the_inside(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("the secret inside")

    monkeypatch.setattr(node_router, "listing", broken)
    client = TestClient(house.app, raise_server_exceptions=False)
    answer = client.get("/v1/nodes", headers={"X-OpenStack-Ironic-API-Version": LATEST})
    assert answer.status_code == 500
    assert json.loads(answer.json()["error_message"])["faultcode"] == "Server"
    assert "secret" not in answer.text and "Traceback" not in answer.text
    assert answer.headers["X-OpenStack-Ironic-API-Maximum-Version"] == LATEST


def test_a_database_held_by_another_writer_is_503(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: Any, **__: Any) -> None:
        raise OperationalError("select", {}, Exception("database is locked"))

    monkeypatch.setattr(node_router, "listing", busy)
    assert house.call("GET", "/nodes").status_code == 503

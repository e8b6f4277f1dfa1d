# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.api_house import NODE, PUBLIC, House, fault

UUID = "33333333-3333-4333-8333-333333333333"


def chassis(house: House, **fields: Any) -> str:
    answer = house.call("POST", "/chassis", fields)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["uuid"])


def test_a_chassis_is_listed_shown_and_removed(house: House) -> None:
    one, two = chassis(house, description="rack 1", extra={"row": 4}), chassis(house)
    page = house.call("GET", "/chassis?limit=1").json()
    assert [each["uuid"] for each in page["chassis"]] == [one]
    assert page["next"] == f"{PUBLIC}/v1/chassis?sort_key=id&sort_dir=asc&limit=1&marker={one}"
    assert house.call("GET", f"/chassis?marker={one}").json()["chassis"][0]["uuid"] == two
    whole = house.call("GET", "/chassis/detail").json()["chassis"][0]
    assert whole == house.call("GET", f"/chassis/{one.upper()}").json()
    assert (whole["extra"], whole["nodes"][0][0]["href"]) == ({"row": 4}, f"{PUBLIC}/v1/chassis/{one}/nodes")
    assert house.call("GET", "/chassis?detail=true").json()["chassis"][0] == whole
    assert set(house.call("GET", f"/chassis/{one}?fields=extra").json()) == {"extra", "links"}
    assert house.call("DELETE", f"/chassis/{one}").status_code == 204
    assert house.call("DELETE", f"/chassis/{one}").status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/chassis/rack-1", None, 400),
        ("GET", f"/chassis/{NODE}", None, 404),
        ("GET", "/chassis?colour=red", None, 400),
        ("GET", f"/chassis?marker={NODE}", None, 404),
        ("GET", "/chassis?fields=colour", None, 400),
        ("POST", "/chassis", {"description": "x" * 256}, 400),
        ("POST", "/chassis", {"extra": []}, 400),
        ("POST", "/chassis", {"name": "x"}, 400),
        ("POST", "/chassis", {"uuid": UUID}, 409),
        ("POST", "/chassis", [], 400),
        ("PATCH", f"/chassis/{UUID}", [{"op": "add", "path": "/extra/a", "value": 1}], 200),
        ("PATCH", f"/chassis/{UUID}", [{"op": "remove", "path": "/description"}], 200),
        ("PATCH", f"/chassis/{UUID}", [{"op": "replace", "path": "/uuid", "value": NODE}], 400),
        ("PATCH", f"/chassis/{UUID}", [{"op": "add", "path": "/nodes", "value": []}], 400),
        ("DELETE", "/chassis", None, 405),
        ("POST", f"/chassis/{UUID}/nodes", {}, 400),
        ("GET", f"/chassis/{UUID}/nodes/{NODE}", None, 400),
        ("GET", f"/chassis/{NODE}/nodes", None, 404),
    ],
)
def test_a_request_is_taken_or_refused(house: House, method: str, path: str, body: Any, status: int) -> None:
    chassis(house, uuid=UUID, description="rack 1")
    assert house.call(method, path, body).status_code == status


def test_nodes_stand_in_a_chassis_that_exists(house: House) -> None:
    one = chassis(house)
    answer = house.call("POST", "/nodes", {"driver": "fake-hardware", "chassis_uuid": UUID})
    assert (answer.status_code, UUID in fault(answer)) == (400, True)
    node, other = house.node(name="in", chassis_uuid=one), house.node(name="out")
    assert house.call("GET", f"/nodes/{node}").json()["chassis_uuid"] == one
    for path in (f"/chassis/{one}/nodes", f"/chassis/{one}/nodes/detail", f"/nodes?chassis_uuid={one}"):
        assert [each["name"] for each in house.call("GET", path).json()["nodes"]] == ["in"]
    assert house.call("GET", f"/chassis/{one}/nodes?maintenance=true").json() == {"nodes": []}
    put = [{"op": "add", "path": "/chassis_uuid", "value": UUID}]
    assert house.call("PATCH", f"/nodes/{other}", put).status_code == 400
    put[0]["value"] = one
    assert house.call("PATCH", f"/nodes/{other}", put).json()["chassis_uuid"] == one


def test_a_chassis_with_nodes_is_not_removed(house: House) -> None:
    one = chassis(house)
    node = house.node(chassis_uuid=one)
    answer = house.call("DELETE", f"/chassis/{one}")
    assert (answer.status_code, "contains nodes" in fault(answer)) == (400, True)
    take_out = [{"op": "remove", "path": "/chassis_uuid"}]
    assert house.call("PATCH", f"/nodes/{node}", take_out, version="1.24").status_code == 406
    assert house.call("PATCH", f"/nodes/{node}", take_out).status_code == 200
    assert house.call("DELETE", f"/chassis/{one}").status_code == 204

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import json

import pytest

from tests.unit.server.api_house import House

CURRENT = "X-OpenStack-Ironic-API-Version"
LEAST = "X-OpenStack-Ironic-API-Minimum-Version"
MOST = "X-OpenStack-Ironic-API-Maximum-Version"


@pytest.mark.parametrize(
    ("headers", "answered"),
    [
        ({}, "1.1"),
        ({CURRENT: "1.50"}, "1.50"),
        ({CURRENT: "latest"}, "1.115"),
        ({CURRENT: "LATEST"}, "1.115"),
        ({"OpenStack-API-Version": "baremetal 1.87"}, "1.87"),
        ({"OpenStack-API-Version": "compute 2.1, baremetal latest"}, "1.115"),
        ({"OpenStack-API-Version": "compute 2.1"}, "1.1"),
        ({"OpenStack-API-Version": "baremetal 1.87", CURRENT: "1.87"}, "1.87"),
    ],
)
def test_the_version_that_was_asked_for_is_answered(house: House, headers: dict[str, str], answered: str) -> None:
    answer = house.call("GET", "/nodes", version=None, headers=headers)
    assert (answer.status_code, answer.headers[CURRENT]) == (200, answered)
    assert (answer.headers[LEAST], answer.headers[MOST]) == ("1.1", "1.115")


@pytest.mark.parametrize("version", ["1.0", "1.116", "2.1", "1", "one", "", "1.1.1", "-1.5", "1.99999999999999999999"])
def test_a_version_that_is_not_offered_is_406_with_the_range(house: House, version: str) -> None:
    answer = house.call("GET", "/nodes", version=version)
    assert answer.status_code == 406
    assert (answer.headers[LEAST], answer.headers[MOST]) == ("1.1", "1.115")
    assert CURRENT not in answer.headers
    assert json.loads(answer.json()["error_message"])["code"] == 406


def test_an_unknown_path_is_404_without_version_headers(house: House) -> None:
    answer = house.call("GET", "/nothing")
    assert (answer.status_code, MOST in answer.headers, CURRENT in answer.headers) == (404, False, False)


def test_a_wrong_method_is_405_with_the_allowed_ones(house: House) -> None:
    answer = house.call("PUT", "/drivers")
    assert (answer.status_code, answer.headers["Allow"], MOST in answer.headers) == (405, "GET", False)


def test_options_is_answered_empty(house: House) -> None:
    answer = house.call("OPTIONS", "/nodes")
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    ("method", "path", "since", "refused"),
    [
        ("GET", "/conductors", 49, 404),
        ("GET", "/nodes/{node}/history", 78, 404),
        ("GET", "/nodes/{node}/inventory", 81, 404),
        ("GET", "/nodes/{node}/children", 83, 404),
        ("GET", "/nodes/{node}/vifs", 28, 404),
        ("GET", "/nodes/{node}/traits", 37, 406),
        ("PUT", "/nodes/{node}/traits", 37, 405),
        ("DELETE", "/nodes/{node}/traits", 37, 404),
    ],
)
def test_an_endpoint_is_not_there_before_its_version(
    house: House, method: str, path: str, since: int, refused: int
) -> None:
    path = path.format(node=house.node())
    assert house.call(method, path, version=f"1.{since - 1}").status_code == refused
    assert house.call(method, path, version=f"1.{since}").status_code != refused or "inventory" in path


@pytest.mark.parametrize("path", ["//nodes", "//nodes/", "//v1/nodes/", "//v1/nodes"])
def test_prefix_and_slash_of_a_path_are_optional(house: House, path: str) -> None:
    assert house.call("GET", path).json() == {"nodes": []}


@pytest.mark.parametrize("path", ["/nodes/states/{node}", "/nodes/{node}/states", "//nodes/states/{node}/"])
def test_the_node_may_stand_behind_the_fixed_parts(house: House, path: str) -> None:
    answer = house.call("GET", path.format(node=house.node()))
    assert answer.json()["provision_state"] == "enroll"


@pytest.mark.parametrize(("version", "status"), [("1.90", 200), ("1.91", 404)])
def test_dot_json_is_ignored_before_91(house: House, version: str, status: int) -> None:
    assert house.call("GET", f"/nodes/{house.node()}.json", version=version).status_code == status


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("application/json", 200),
        ("*/*", 200),
        ("text/html, application/*;q=0.5", 200),
        ("text/html", 406),
        ("application/json;q=0", 406),
    ],
)
def test_json_must_be_acceptable(house: House, accept: str, status: int) -> None:
    assert house.call("GET", "/nodes", headers={"Accept": accept}).status_code == status


def test_every_answer_has_a_request_id(house: House) -> None:
    for path in ("/nodes", "/nothing", "/nodes/none"):
        answer = house.call("GET", path)
        assert answer.headers["openstack-request-id"] == answer.headers["x-openstack-request-id"]
        assert answer.headers["openstack-request-id"].startswith("req-")

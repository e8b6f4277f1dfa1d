# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils import _client
from ansible_collections.rackwright.metal.plugins.module_utils._client import (
    API_OPTIONS,
    ATTEMPTS,
    ApiClient,
    ApiError,
    Unreachable,
    fault_text,
    segment,
)
from ansible_collections.rackwright.metal.tests.unit.plugins.api_server import PAGE, ApiServer, fault

LOCKED = (409, fault("Node web-1 is locked."))


def client(api: ApiServer, **options: Any) -> ApiClient:
    defaults = {name: option.get("default") for name, option in API_OPTIONS.items()}
    return ApiClient({**defaults, "api_url": api.url, **options})


def test_all_pages_of_a_collection_are_read(api: ApiServer) -> None:
    names = [api.add(f"web-{number}")["name"] for number in range(2 * PAGE + 1)]
    assert [node["name"] for node in client(api).items("/nodes", "nodes", fields="name")] == names
    assert [method for method, _path in api.requests] == ["GET"] * 3


@pytest.mark.parametrize("suffix", ["/", "/v1", "/v1/"])
def test_the_url_may_be_given_with_and_without_the_version(api: ApiServer, suffix: str) -> None:
    api.add("web-1")
    assert client(api, api_url=api.url + suffix).get("/nodes/web-1")["name"] == "web-1"


def test_what_is_not_there_is_none_but_another_refusal_is_an_error(api: ApiServer) -> None:
    assert client(api).find("/nodes/gone") is None
    api.prepared = [(403, fault("Not for you."))]
    with pytest.raises(ApiError, match="HTTP 403: Not for you"):
        client(api).find("/nodes/gone")


@pytest.mark.parametrize("status", [409, 503])
def test_a_locked_node_and_a_busy_server_are_asked_again(api: ApiServer, status: int) -> None:
    api.add("web-1")
    api.prepared = [(status, fault("Later."))] * (ATTEMPTS - 1)
    client(api).put("/nodes/web-1/states/provision", {"target": "manage"})
    assert len(api.requests) == ATTEMPTS


def test_a_node_that_stays_locked_is_an_error_in_the_end(api: ApiServer) -> None:
    api.prepared = [LOCKED] * ATTEMPTS
    with pytest.raises(ApiError, match="web-1 is locked"):
        client(api).get("/nodes/web-1")


def test_another_refusal_is_not_repeated(api: ApiServer) -> None:
    api.prepared = [(400, fault("No."))]
    with pytest.raises(ApiError, match="HTTP 400: No"):
        client(api).post("/nodes", {})
    assert len(api.requests) == 1


def test_user_and_password_go_with_the_first_request(api: ApiServer) -> None:
    api.add("web-1")
    client(api, api_username="me", api_password="canary").get("/nodes/web-1")
    assert api.headers[0]["Authorization"] == "Basic " + base64.b64encode(b"me:canary").decode()
    assert len(api.requests) == 1


def test_each_request_names_a_version_of_the_api(api: ApiServer) -> None:
    api.add("web-1")
    client(api).get("/nodes/web-1")
    headers = {name.lower(): value for name, value in api.headers[0].items()}
    assert headers["x-openstack-ironic-api-version"] == _client.NEWEST_VERSION


def test_an_api_that_does_not_answer_is_an_error_that_says_what_to_do(api: ApiServer) -> None:
    api.silences = 1
    with pytest.raises(Unreachable, match=rf"Failed to ask the API at {api.url}: .* Check that the daemon runs"):
        client(api).get("/nodes")


def test_an_answer_that_is_no_json_is_an_error_too(api: ApiServer) -> None:
    api.prepared = [(200, b"<html>")]
    with pytest.raises(Unreachable, match="Check that the daemon runs"):
        client(api).get("/nodes")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (fault("Node is locked."), "Node is locked."),
        ({"error_message": {"faultstring": "Not text but an object."}}, "Not text but an object."),
        ({"error_message": json.dumps({"title": "Unauthorized", "description": "Log in."})}, "Log in."),
        ({"error": {"code": 401, "message": "Who are you?"}}, "Who are you?"),
        (b"Bad gateway", "Bad gateway"),
        (b"[]", "[]"),
        (b"", "no explanation given"),
    ],
)
def test_the_text_of_a_fault_is_found_in_each_of_its_shapes(body: Any, text: str) -> None:
    assert fault_text(body if isinstance(body, bytes) else json.dumps(body).encode()) == text


@pytest.mark.parametrize("name", ["../ports", "a/b?c#d", "web 1", "%2e%2e"])
def test_a_name_is_never_a_path(api: ApiServer, name: str) -> None:
    api.add(name)
    assert client(api).get(f"/nodes/{segment(name)}")["name"] == name
    assert api.requests[0][1].count("/") == 3


def test_a_redirection_is_not_followed_with_the_password(api: ApiServer) -> None:
    api.prepared = [(307, b"")]
    with pytest.raises(ApiError, match="HTTP 307"):
        client(api, api_username="me", api_password="canary").get("/nodes")
    assert len(api.requests) == 1


def test_inventory_cut_at_page_one(api: ApiServer) -> None:
    names = [api.add(f"web-{number}")["name"] for number in range(1234)]
    assert [node["name"] for node in client(api).items("/nodes", "nodes", fields="name")] == names
    reading = client(api).items("/nodes", "nodes", fields="name")
    next(reading)
    api.prepared = [(500, fault("The database is away."))]
    with pytest.raises(ApiError, match="The database is away"):
        list(reading)

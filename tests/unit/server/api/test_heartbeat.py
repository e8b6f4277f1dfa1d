# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from rackwright.app import create_app
from rackwright.catalog import Catalog
from tests.unit.server.agent_house import MAC, NODE, OTHER, URL, House, certificate

VERSION = "X-OpenStack-Ironic-API-Version"
BODY = {"callback_url": URL, "agent_version": "13.0.0"}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    made.database.dispose()


@pytest.fixture
def client(house: House) -> Iterator[TestClient]:
    with TestClient(create_app(house.settings, Catalog((), {}, {}))) as made:
        yield made


def send(client: TestClient, body: Any, version: str = "1.68", ident: str = NODE) -> tuple[int, bytes]:
    answer = client.post(f"/v1/heartbeat/{ident}", json=body, headers={VERSION: version})
    return answer.status_code, answer.content


def test_a_good_heartbeat_is_exactly_202_without_a_body(house: House, client: TestClient) -> None:
    house.add(NODE, MAC)
    house.wait()
    token = house.token()
    assert send(client, {**BODY, "agent_token": token, "agent_verify_ca": certificate("agent")}) == (202, b"")
    assert house.node().driver_internal_info["agent_verify_ca"] == certificate("agent")
    assert house.operation().status == "ready"


def test_both_forms_of_the_body_are_accepted(house: House, client: TestClient) -> None:
    house.add(NODE, MAC)
    token = house.token()
    assert send(client, {**BODY, "agent_token": token, "agent_verify_ca": None})[0] == 202
    told = {"callback_url": URL, "agent_token": token, "agent_status": "end", "agent_status_message": "done"}
    assert send(client, told, "1.72")[0] == 202


@pytest.mark.parametrize(
    ("change", "version", "status"),
    [
        ({"callback_url": None}, "1.68", 400),
        ({"callback_url": "http://192.0.2.20:9999"}, "1.68", 400),
        ({"callback_url": 5}, "1.68", 400),
        ({"agent_token": None}, "1.68", 400),
        ({"agent_token": "x" * 43}, "1.68", 400),
        ({"agent_token": ["x"]}, "1.68", 400),
        ({"agent_version": None}, "1.68", 400),
        ({"agent_status": "dancing"}, "1.72", 400),
        ({"agent_status": "start"}, "1.71", 400),
        ({"agent_verify_ca": "text"}, "1.68", 400),
        ({"agent_verify_ca": certificate("agent")}, "1.67", 400),
        ({}, "1.61", 400),
        ({}, "1.21", 404),
        ({"colour": "red"}, "1.68", 400),
    ],
)
def test_the_status_tells_what_is_wrong(
    house: House, client: TestClient, change: dict[str, Any], version: str, status: int
) -> None:
    house.add(NODE, MAC)
    body = {**BODY, "agent_token": house.token(), **change}
    assert send(client, body, version)[0] == status
    assert "agent_url" not in house.node().driver_internal_info


def test_an_unknown_node_is_404_and_a_locked_one_409(house: House, client: TestClient) -> None:
    house.add(NODE, MAC)
    body = {**BODY, "agent_token": house.token()}
    assert send(client, body, ident=OTHER)[0] == 404
    house.change(reservation="conductor-1")
    status, content = send(client, body)
    assert status == 409
    assert "conductor-1" in json.loads(json.loads(content)["error_message"])["faultstring"]


HOSTILE: list[bytes] = [
    b"",
    b"null",
    b"[]",
    b'"text"',
    b"{",
    b"\xff\xfe",
    b'{"callback_url": "https://h", "agent_token": "\\u0000"}',
    b'{"callback_url": {"$sealed": "x"}, "agent_token": {"$sealed": "x"}, "agent_version": "1"}',
    b'{"callback_url": "https://{{ lookup(\'pipe\', \'id\') }}/", "agent_version": "1", "agent_token": "%s"}',
    b'{"callback_url": "https://h", "agent_version": "' + b"x" * 5000 + b'", "agent_token": "%s"}',
    b"[" * 100 + b"]" * 100,
]


@pytest.mark.parametrize("body", HOSTILE)
def test_hostile_bodies_are_bad_requests_that_change_nothing(house: House, client: TestClient, body: bytes) -> None:
    house.add(NODE, MAC)
    house.wait()
    token = house.token()
    before = house.node().driver_internal_info
    headers = {VERSION: "1.68", "Content-Type": "application/json"}
    sent = body.replace(b"%s", token.encode())
    assert client.post(f"/v1/heartbeat/{NODE}", content=sent, headers=headers).status_code == 400
    assert house.node().driver_internal_info == before
    assert house.operation().status == "waiting"


def test_a_body_larger_than_allowed_is_refused_unread(house: House, client: TestClient) -> None:
    house.add(NODE, MAC)
    assert send(client, {**BODY, "agent_verify_ca": "x" * 2_000_000})[0] == 413


def test_the_token_is_not_told_back(house: House, client: TestClient) -> None:
    house.add(NODE, MAC)
    token = house.token()
    _, content = send(client, {**BODY, "agent_token": "planted-secret"})
    assert token.encode() not in content
    assert b"planted-secret" not in content
    shown = client.get(f"/v1/nodes/{NODE}", headers={VERSION: "1.115"}).json()
    assert shown["driver_internal_info"]["agent_secret_token"] == "******"

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from rackwright.app import create_app
from rackwright.catalog import Catalog
from tests.unit.server.agent_house import MAC, NODE, OTHER, House

VERSION = "X-OpenStack-Ironic-API-Version"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    made.database.dispose()


@pytest.fixture
def client(house: House) -> Iterator[TestClient]:
    with TestClient(create_app(house.settings, Catalog((), {}, {})), base_url="http://rack.example") as made:
        yield made


def test_the_answer_shows_five_fields_of_the_node_and_the_config(house: House, client: TestClient) -> None:
    secrets = house.sealer.seal({"image_url": "http://secret/image", "configdrive": "c", "image_source": "http://i"})
    house.add(NODE, MAC, instance_info=secrets, properties={"cpus": 4})
    answer = client.get(f"/v1/lookup?addresses={MAC.upper()},junk", headers={VERSION: "1.62"})
    assert answer.status_code == 200
    assert answer.headers[VERSION] == "1.62"
    body = answer.json()
    assert sorted(body) == ["config", "node"]
    assert len(body["config"]["agent_token"]) == 43
    assert body["node"] == {
        "uuid": NODE,
        "properties": {"cpus": 4},
        "instance_info": {"image_url": "******", "configdrive": "******", "image_source": "http://i"},
        "driver_internal_info": {"agent_secret_token": "******", "agent_token_proved": False},
        "links": [
            {"href": f"http://rack.example/v1/nodes/{NODE}", "rel": "self"},
            {"href": f"http://rack.example/nodes/{NODE}", "rel": "bookmark"},
        ],
    }


def test_the_agents_own_spelling_of_the_query_works(house: House, client: TestClient) -> None:
    house.add(NODE, MAC)
    many = ",".join(f"00:1b:21:00:01:{place:02x}" for place in range(64))
    query = {"addresses": f"{many},{MAC}", "node_uuid": NODE}
    assert client.get("/v1/lookup", params=query, headers={VERSION: "1.62"}).json()["node"]["uuid"] == NODE
    assert client.get("/v1/lookup/", params=query, headers={VERSION: "1.62"}).status_code == 200


@pytest.mark.parametrize(
    ("query", "version", "status"),
    [
        ("", "1.62", 400),
        ("addresses=", "1.62", 400),
        ("addresses=junk", "1.62", 400),
        ("node_uuid=node-1", "1.62", 400),
        (f"addresses={MAC}&colour=red", "1.62", 400),
        (f"node_uuid={OTHER}", "1.62", 404),
        (f"addresses={MAC}", "1.21", 404),
        (f"addresses={MAC}", "1.200", 406),
        (f"addresses={MAC}", "1.22", 200),
    ],
)
def test_the_status_tells_what_is_wrong(
    house: House, client: TestClient, query: str, version: str, status: int
) -> None:
    house.add(NODE, MAC)
    answer = client.get(f"/v1/lookup?{query}", headers={VERSION: version})
    assert answer.status_code == status
    if status in (400, 404):
        assert json.loads(answer.json()["error_message"])["faultcode"] == "Client"


def test_a_locked_node_is_a_conflict_that_the_agent_repeats(house: House, client: TestClient) -> None:
    house.add(NODE, MAC, reservation="conductor-1")
    assert client.get(f"/v1/lookup?addresses={MAC}", headers={VERSION: "1.62"}).status_code == 409


def test_version_discovery_of_the_agent_finds_the_newest_version(client: TestClient) -> None:
    default = client.get("/").json()["default_version"]
    assert default["version"].split(".") == ["1", "115"]


@pytest.mark.parametrize(("minor", "announced"), [(21, []), (22, ["heartbeat", "lookup"])])
def test_the_doors_of_agents_are_announced_from_their_version_on(
    client: TestClient, minor: int, announced: list[str]
) -> None:
    found = client.get("/v1", headers={VERSION: f"1.{minor}"}).json()
    assert sorted(set(found) & {"lookup", "heartbeat", "continue_inspection"}) == announced
    newest = client.get("/v1", headers={VERSION: "1.84"}).json()
    assert newest["continue_inspection"][0]["href"] == "http://rack.example/v1/continue_inspection/"

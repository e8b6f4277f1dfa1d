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
from rackwright.engine.inspection import UnknownHook
from tests.unit.server.agent_house import MAC, NODE, OTHER, OTHER_MAC, House

VERSION = "X-OpenStack-Ironic-API-Version"
SAMPLE: dict[str, Any] = {
    "inventory": {
        "interfaces": [
            {"name": "eth0", "mac_address": MAC, "ipv4_address": "192.0.2.20", "has_carrier": True, "lldp": []}
        ],
        "cpu": {"count": 4, "architecture": "x86_64", "model_name": "m", "flags": []},
        "memory": {"physical_mb": 8192, "total": 8589934592},
        "disks": [{"name": "/dev/sda", "size": 107374182400, "rotational": False}],
        "bmc_address": "192.0.2.30",
        "boot": {"current_boot_mode": "uefi", "pxe_interface": MAC},
        "system_vendor": {"product_name": "p", "serial_number": "s", "manufacturer": "m"},
    },
    "root_disk": {"name": "/dev/sda", "size": 107374182400},
    "boot_interface": MAC,
    "error": None,
    "configuration": {"collectors": ["default", "logs"], "managers": []},
}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path)
    yield made
    made.database.dispose()


@pytest.fixture
def client(house: House) -> Iterator[TestClient]:
    with TestClient(create_app(house.settings, Catalog((), {}, {}))) as made:
        yield made


def expect(house: House, uuid: str = NODE, *macs: str) -> None:
    house.add(uuid, *macs, state="inspect wait")
    house.wait("inspection", uuid=uuid)


def test_without_a_version_the_answer_is_the_uuid(house: House, client: TestClient) -> None:
    expect(house, NODE, MAC)
    answer = client.post("/v1/continue_inspection", json=SAMPLE)
    assert (answer.status_code, answer.json()) == (202, {"uuid": NODE})
    assert house.operation().status == "ready"
    assert "agent_secret_token" not in house.node().driver_internal_info


def test_from_1_84_on_the_answer_is_that_of_a_lookup(house: House, client: TestClient) -> None:
    expect(house, NODE, MAC)
    answer = client.post("/v1/continue_inspection", json=SAMPLE, headers={VERSION: "1.84"})
    assert answer.status_code == 202
    assert answer.json()["node"]["uuid"] == NODE
    assert len(answer.json()["config"]["agent_token"]) == 43


def test_from_1_84_on_the_uuid_may_be_named(house: House, client: TestClient) -> None:
    expect(house, NODE, MAC)
    expect(house, OTHER, OTHER_MAC)
    path = f"/v1/continue_inspection?node_uuid={OTHER}"
    assert client.post(path, json=SAMPLE, headers={VERSION: "1.84"}).json()["node"]["uuid"] == OTHER
    assert client.post(path, json=SAMPLE).status_code == 406
    bad = client.post("/v1/continue_inspection?node_uuid=node-1", json=SAMPLE, headers={VERSION: "1.84"})
    assert bad.status_code == 400


@pytest.mark.parametrize("minor", [2, 22, 62, 83])
def test_between_1_1_and_1_84_the_resource_is_not_there(house: House, client: TestClient, minor: int) -> None:
    expect(house, NODE, MAC)
    answer = client.post("/v1/continue_inspection", json=SAMPLE, headers={VERSION: f"1.{minor}"})
    assert answer.status_code == 404


def test_the_stored_inventory_is_what_the_contract_shows(house: House, client: TestClient) -> None:
    expect(house, NODE, MAC)
    client.post("/v1/continue_inspection", json={**SAMPLE, "logs": "H4sI"})
    stored = client.get(f"/v1/nodes/{NODE}/inventory", headers={VERSION: "1.115"}).json()
    record = {**SAMPLE["inventory"]["interfaces"][0], "pxe_enabled": True, "ipv6_address": None}
    plugin_data = {name: value for name, value in SAMPLE.items() if name != "inventory"}
    assert stored == {
        "inventory": SAMPLE["inventory"],
        "plugin_data": {
            **plugin_data,
            "all_interfaces": {"eth0": record},
            "valid_interfaces": {"eth0": record},
            "macs": [MAC],
        },
    }


def test_a_report_of_nobody_who_waits_is_not_found(house: House, client: TestClient) -> None:
    house.add(NODE, MAC, state="active")
    answer = client.post("/v1/continue_inspection", json=SAMPLE)
    assert answer.status_code == 404
    assert json.loads(answer.json()["error_message"])["faultcode"] == "Client"


def test_broken_characters_do_not_cost_the_inspection(house: House, client: TestClient) -> None:
    expect(house, NODE, MAC)
    sent = json.dumps(SAMPLE).replace('"m"', '"\\u0000 \\udc80 \\ud83d"').replace("8192", "NaN")
    answer = client.post("/v1/continue_inspection", content=sent, headers={"Content-Type": "application/json"})
    assert answer.status_code == 202
    stored = client.get(f"/v1/nodes/{NODE}/inventory", headers={VERSION: "1.115"}).json()
    assert stored["inventory"]["system_vendor"]["manufacturer"] == "\ufffd \ufffd \ufffd"
    assert stored["inventory"]["memory"]["physical_mb"] is None


HOSTILE: list[bytes] = [
    b"",
    b"null",
    b"[]",
    b"{",
    b"\xff\xfe\xfa",
    b'{"inventory": {"interfaces": [{"mac_address": {}}]}}',
    b'{"inventory": {"interfaces": ' + b"[" * 100 + b"]" * 100 + b"}}",
    b'{"inventory": {"interfaces": [{"mac_address": "x"}]}, "n": ' + b"9" * 9000 + b"}",
]


@pytest.mark.parametrize("body", HOSTILE)
def test_hostile_bodies_are_bad_requests_that_change_nothing(house: House, client: TestClient, body: bytes) -> None:
    expect(house, NODE, MAC)
    answer = client.post("/v1/continue_inspection", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 400
    assert house.operation().status == "waiting"


def test_texts_of_a_report_are_kept_as_text(house: House, client: TestClient) -> None:
    expect(house, NODE, MAC)
    body = json.loads(json.dumps(SAMPLE))
    body["inventory"]["cpu"]["architecture"] = "{{ lookup('pipe', 'id') }}"
    body["inventory"]["interfaces"][0]["name"] = "../../etc"
    assert client.post("/v1/continue_inspection", json=body).status_code == 202
    assert house.node().properties["cpu_arch"] == "{{ lookup('pipe', 'id') }}"


def test_a_report_may_be_larger_than_other_bodies(house: House, client: TestClient) -> None:
    expect(house, NODE, MAC)
    assert client.post("/v1/continue_inspection", json={**SAMPLE, "logs": "x" * 3_000_000}).status_code == 202
    assert client.post("/v1/continue_inspection", json={**SAMPLE, "logs": "x" * 17_000_000}).status_code == 413


def test_a_hook_that_nobody_knows_is_refused_when_the_daemon_starts(house: House) -> None:
    house.set(inspection_hooks=("colour",))
    with pytest.raises(UnknownHook, match="names colour"):
        create_app(house.settings, Catalog((), {}, {}))

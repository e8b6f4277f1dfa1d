# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Every route of the API is public, or asks a rule."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rackwright.api.v1 import ROUTERS
from tests.unit.server.api_house import HOST, House
from tests.unit.server.keystone_house import GuardedHouse, identity_service
from tests.unit.server.services.test_policy import TABLE

PUBLIC = {
    *("/", "/v1", "/v1/lookup", "/v1/heartbeat", "/v1/heartbeat/{ident}", "/v1/continue_inspection"),
    *("/healthz", "/readyz"),
}
ALLOCATION_OF = "/v1/nodes/{ident}/allocation"
SEE = ("baremetal:node:get", "baremetal:allocation:get", "baremetal:runbook:get")
SHOWN = {
    ("GET", path)
    for path in (
        *("/v1/nodes/{ident}", "/v1/allocations/{ident}", "/v1/nodes/{ident}/allocation"),
        *("/v1/runbooks/{ident}", "/v1/runbooks/{ident}/traits"),
    )
}
"""Where the rule by which a row is seen is all that a GET asks."""

MAC, UUID = "52:54:00:aa:bb:09", "99999999-9999-4999-8999-999999999999"
STEP = {"interface": "bios", "step": "factory_reset", "args": {}}
PATCH = [{"op": "add", "path": "/extra/x", "value": 1}]
EVENT = {"event": "network.bind_port", "port_id": UUID, "mac_address": MAC, "status": "ACTIVE"}


def new(node: str) -> dict[str, Any]:
    """Return what makes a new object, by the path of its collection."""
    return {
        "/v1/ports": {"node_uuid": node, "address": MAC},
        "/v1/portgroups": {"node_uuid": node},
        "/v1/chassis": {},
        "/v1/volume/connectors": {"node_uuid": node, "type": "iqn", "connector_id": "iqn.1"},
        "/v1/volume/targets": {"node_uuid": node, "volume_type": "iscsi", "volume_id": UUID, "boot_index": 0},
        "/v1/allocations": {"node": node},
        "/v1/deploy_templates": {"name": "CUSTOM_T", "steps": [STEP | {"priority": 1}]},
        "/v1/runbooks": {"name": "CUSTOM_R", "steps": [STEP | {"order": 1}]},
        "/v1/inspection_rules": {"actions": [{"op": "fail", "args": {"msg": "no"}}]},
    }


BODIES: dict[str, Any] = {
    "POST /v1/nodes": {"driver": "fake-hardware"},
    "POST /v1/nodes/{ident}/vifs": {"id": UUID},
    "POST /v1/nodes/{ident}/vmedia": {"device_type": "cdrom", "image_url": "https://images.example/a.iso"},
    "POST /v1/events": {"events": [EVENT]},
    "PATCH /v1/inspection_rules/{uuid}": [{"op": "replace", "path": "/priority", "value": 5}],
    "PATCH /v1/nodes/{ident}/vendor_passthru": {},
    "PATCH /v1/nodes/{ident}/vendor_passthru/{method}": {},
    "PATCH /v1/drivers/{name}/vendor_passthru": {},
    "PATCH /v1/drivers/{name}/vendor_passthru/{method}": {},
    "PUT /v1/nodes/{ident}/states/power": {"target": "power on"},
    "PUT /v1/nodes/{ident}/states/provision": {"target": "rebuild"},
    "PUT /v1/nodes/{ident}/states/boot_mode": {"target": "uefi"},
    "PUT /v1/nodes/{ident}/states/secure_boot": {"target": True},
    "PUT /v1/nodes/{ident}/states/console": {"enabled": True},
    "PUT /v1/nodes/states/console/{ident}": {"enabled": True},
    "PUT /v1/nodes/{ident}/states/raid": {"logical_disks": [{"size_gb": 1, "raid_level": "1"}]},
    "PUT /v1/nodes/{ident}/management/boot_device": {"boot_device": "disk"},
    "PUT /v1/nodes/management/boot_device/{ident}": {"boot_device": "disk"},
    "PUT /v1/nodes/{ident}/management/indicators/{name}": {"state": "on"},
    "PUT /v1/nodes/{ident}/traits": {"traits": ["CUSTOM_X"]},
    "PUT /v1/runbooks/{ident}/traits": {"traits": ["CUSTOM_X"]},
}
PARTS = {
    **{"{trait}": "CUSTOM_X", "{vif}": UUID, "{uuid}": UUID, "{method}": "paint", "{setting}": "boot"},
    "{name}": "led@system",
}
QUERIES = {"/v1/nodes/validate": "?node=n1"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("state")
    (found / "http").mkdir()
    return found


@pytest.fixture(scope="module")
def idents(folder: Path) -> dict[str, str]:
    """Make one object of each kind; return their idents by path."""
    house = House(folder)
    node = house.node(name="n1", provision_state="active", resource_class="x")
    found = {"/v1/nodes": node, "/rackwright/v1/nodes": node, "/v1/drivers": "fake-hardware", "/v1/conductors": HOST}
    for path, body in new(node).items():
        answer = house.call("POST", f"/{path}", body)
        assert answer.status_code == 201, answer.text
        found[path] = answer.json()["uuid"]
    return found


ROUTES = sorted(
    (method, route.path)
    for router in ROUTERS
    for route in router.routes
    for method in route.methods - {"HEAD"}
    if route.path not in PUBLIC and route.include_in_schema  # the others refuse whatever is asked
)


@pytest.fixture(scope="module")
def houses(folder: Path, idents: dict[str, str]) -> Iterator[dict[str, GuardedHouse]]:
    """Yield the API with rules that allow nothing, and with rules that allow just to see that rows exist."""
    assert idents
    nothing = dict.fromkeys(TABLE, "!")
    with identity_service() as keystone:
        found = {}
        for name, rules in {"nothing": nothing, "seeing": nothing | dict.fromkeys(SEE, "@")}.items():
            file = folder / f"{name}.json"
            file.write_text(json.dumps(rules))
            found[name] = GuardedHouse(folder, keystone, policy_file=file)
        yield found


def request(house: House, method: str, path: str, idents: dict[str, str], **more: Any) -> int:
    """Send a request that would be answered if nothing was asked; return the status."""
    node = idents["/v1/nodes"]
    head, _, rest = path.partition("/{")
    whole = f"{head}/{idents.get(head, node)}{rest.partition('}')[2]}" if rest else head
    whole = re.sub(r"\{\w+\}", lambda part: PARTS[part[0]], whole)
    made = new(node).get(path) if method == "POST" else PATCH if method == "PATCH" else None
    answer = house.call(method, f"/{whole}{QUERIES.get(path, '')}", BODIES.get(f"{method} {path}", made), **more)
    return answer.status_code


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_route_asks_a_rule_or_is_public(
    houses: dict[str, GuardedHouse], idents: dict[str, str], method: str, path: str
) -> None:
    seen_only = (method, path) in SHOWN
    assert request(houses["seeing"], method, path, idents, who="admin@p1") == (200 if seen_only else 403)
    unseen = (400,) if path == ALLOCATION_OF else (403, 404)
    assert request(houses["nothing"], method, path, idents, who="admin@p1") in unseen
    assert request(houses["nothing"], method, path, idents, who="admin@system") == 403
    assert request(houses["nothing"], method, path, idents, headers={"X-Auth-Token": "unknown"}) == 401


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("GET", "/v1", 200),
        ("GET", "/v1/", 200),
        ("GET", "/v1/lookup?addresses=52:54:00:aa:bb:77", 404),
        ("GET", "/lookup/?addresses=52:54:00:aa:bb:77", 404),
        ("POST", f"/v1/heartbeat/{UUID}", 400),
        ("POST", "/v1/continue_inspection", 400),
        ("GET", "/openapi.json", 200),
        ("GET", "/files/images/none", 404),
        ("GET", "/v1/nodes", 401),
        ("GET", "/nodes/", 401),
        ("GET", "/v1/unknown", 401),
        ("GET", "/v1/lookup/../nodes", 401),
        ("GET", "/v1/lookup/x", 401),
        ("OPTIONS", "/v1/nodes", 401),
        ("GET", "/rackwright/v1/nodes/x/operations", 401),
        ("GET", "/rackwright/v1/nodes/x/timeline", 401),
        ("GET", "/rackwright/v1/fleet", 401),
        ("GET", "/metrics", 401),
        ("GET", "/healthz", 200),
        ("GET", "/readyz", 200),
        ("GET", "/readyz/x", 401),
    ],
)
def test_what_is_public_is_there_for_everybody_and_nothing_else_is(
    houses: dict[str, GuardedHouse], method: str, path: str, status: int
) -> None:
    headers = {"X-OpenStack-Ironic-API-Version": "1.115"}
    answer = houses["nothing"].client.request(method, path, headers=headers)
    assert answer.status_code == status, answer.text

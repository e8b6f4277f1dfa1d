# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""When the fields of a node may change (contract: node-fields.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.server.api_house import NODE, House

OTHER = "22222222-2222-4222-8222-222222222222"


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def change(house: House, uuid: str, field: str, value: Any, query: str = "", version: str = "1.115") -> Any:
    patch = [{"op": "replace", "path": f"/{field}", "value": value}]
    return house.call("PATCH", f"/nodes/{uuid}{query}", patch, version=version)


@pytest.mark.parametrize(
    ("columns", "field", "value", "status"),
    [
        ({}, "extra", {"a": 1}, 200),
        ({"reservation": "host"}, "extra", {"a": 1}, 409),
        ({"provision_state": "deploying", "target_provision_state": "active"}, "extra", {"a": 1}, 409),
        ({"provision_state": "deploy hold", "target_provision_state": "active"}, "extra", {"a": 1}, 409),
        ({"provision_state": "deploy failed", "target_provision_state": "active"}, "extra", {"a": 1}, 200),
        ({"provision_state": "service hold", "target_provision_state": "active"}, "extra", {"a": 1}, 200),
        ({"provision_state": "inspect wait", "target_provision_state": "manageable"}, "extra", {"a": 1}, 200),
        ({"provision_state": "inspecting", "target_provision_state": "manageable"}, "extra", {"a": 1}, 409),
        ({"provision_state": "active"}, "power_interface", "fake", 200),
        ({"provision_state": "active"}, "bios_interface", "no-bios", 409),
        ({"provision_state": "active", "maintenance": True}, "bios_interface", "no-bios", 200),
        ({"provision_state": "available"}, "bios_interface", "no-bios", 200),
        ({"provision_state": "available"}, "bios_interface", "redfish", 400),
        ({"provision_state": "available"}, "bios_interface", None, 200),
        ({"resource_class": "big"}, "resource_class", "small", 200),
        ({"resource_class": "big", "provision_state": "active"}, "resource_class", "small", 409),
        ({"resource_class": "big", "provision_state": "active", "maintenance": True}, "resource_class", "s", 409),
        ({"provision_state": "active"}, "resource_class", "small", 200),
        ({"instance_uuid": NODE}, "instance_uuid", OTHER, 409),
        ({"instance_uuid": NODE}, "instance_uuid", NODE, 200),
        ({"instance_uuid": NODE}, "instance_uuid", None, 200),
        ({"provision_state": "active"}, "protected", True, 200),
        ({"provision_state": "rescue"}, "protected", True, 200),
        ({"provision_state": "available"}, "protected", True, 409),
        ({}, "protected_reason", "mine", 400),
        ({"protected": True}, "protected_reason", "mine", 200),
        ({"provision_state": "available"}, "retired", True, 409),
        ({"provision_state": "active"}, "retired", True, 200),
        ({}, "retired_reason", "old", 400),
        ({"console_enabled": True}, "driver", "redfish", 409),
        ({}, "conductor_group", "far", 400),
        ({}, "name", "states", 400),
        ({}, "parent_node", "nobody", 400),
        ({}, "chassis_uuid", NODE, 400),
    ],
)
def test_a_field_changes_when_its_rule_allows_it(
    house: House, columns: dict[str, Any], field: str, value: Any, status: int
) -> None:
    uuid = house.node()
    house.set(uuid, **columns)
    before = house.call("GET", f"/nodes/{uuid}").json()
    answer = change(house, uuid, field, value)
    assert answer.status_code == status, answer.text
    after = house.call("GET", f"/nodes/{uuid}").json()
    if status != 200:
        assert after == before
    elif value is not None:
        assert after[field] == value


def test_an_inspecting_node_changes_before_39(house: House) -> None:
    uuid = house.node(provision_state="inspecting", target_provision_state="manageable")
    assert change(house, uuid, "extra", {"a": 1}, version="1.38").status_code == 200


def test_an_instance_leaves_a_node_in_maintenance_whatever_its_state(house: House) -> None:
    uuid = house.node(provision_state="deploying", target_provision_state="active")
    house.set(uuid, maintenance=True, instance_uuid=NODE)
    remove = [{"op": "remove", "path": "/instance_uuid"}]
    more = [*remove, {"op": "add", "path": "/extra/a", "value": 1}]
    assert house.call("PATCH", f"/nodes/{uuid}", more).status_code == 409
    assert house.call("PATCH", f"/nodes/{uuid}", remove).json()["instance_uuid"] is None


@pytest.mark.parametrize(
    ("columns", "flag", "gone"),
    [
        ({"protected": True, "protected_reason": "x"}, "protected", ["protected_reason"]),
        ({"retired": True, "retired_reason": "x"}, "retired", ["retired_reason"]),
        (
            {"maintenance": True, "maintenance_reason": "x", "fault": "clean failure"},
            "maintenance",
            ["maintenance_reason", "fault"],
        ),
    ],
)
def test_clearing_a_flag_clears_its_reason(house: House, columns: dict[str, Any], flag: str, gone: list[str]) -> None:
    uuid = house.node()
    house.set(uuid, **columns)
    node = change(house, uuid, flag, False).json()
    assert [node[name] for name in (flag, *gone)] == [False, *(None for _ in gone)]


def test_another_driver_keeps_fitting_interfaces_or_resets_them_all(house: House) -> None:
    uuid = house.node()
    assert change(house, uuid, "driver", "redfish").status_code == 400
    node = change(house, uuid, "driver", "redfish", "?reset_interfaces=true").json()
    assert (node["driver"], node["power_interface"], node["storage_interface"]) == ("redfish", "redfish", "noop")
    assert change(house, uuid, "extra", {}, "?reset_interfaces=true").status_code == 400
    assert change(house, uuid, "driver", "redfish", "?reset_interfaces=true", version="1.44").status_code == 406


def test_a_parent_has_the_same_owner_and_is_another_node(house: House) -> None:
    parent, child = house.node(name="parent", owner="p1"), house.node()
    assert change(house, child, "parent_node", "parent").status_code == 400
    change(house, child, "owner", "p1")
    assert change(house, child, "parent_node", "parent").json()["parent_node"] == parent
    assert change(house, child, "parent_node", child).status_code == 400


@pytest.mark.parametrize(
    ("columns", "status"),
    [
        ({"provision_state": "enroll"}, 204),
        ({"provision_state": "manageable"}, 204),
        ({"provision_state": "available"}, 204),
        ({"provision_state": "adopt failed"}, 204),
        ({"provision_state": "active"}, 409),
        ({"provision_state": "cleaning"}, 409),
        ({"provision_state": "active", "maintenance": True}, 204),
        ({"instance_uuid": NODE}, 409),
        ({"instance_uuid": NODE, "maintenance": True}, 204),
        ({"protected": True, "maintenance": True}, 403),
        ({"reservation": "host"}, 409),
    ],
)
def test_a_node_goes_only_when_nothing_needs_it(house: House, columns: dict[str, Any], status: int) -> None:
    uuid = house.node()
    house.set(uuid, **columns)
    assert house.call("DELETE", f"/nodes/{uuid}").status_code == status
    assert house.call("GET", f"/nodes/{uuid}").status_code == (404 if status == 204 else 200)


def test_available_nodes_can_be_kept_by_a_setting(tmp_path: Path) -> None:
    house = House(tmp_path / "strict", allow_deleting_available_nodes=False)
    uuid = house.node(provision_state="available")
    assert house.call("DELETE", f"/nodes/{uuid}").status_code == 409

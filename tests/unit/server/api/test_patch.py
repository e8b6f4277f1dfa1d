# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.server.api_house import NODE, House, fault

START = {
    "name": "n1",
    "extra": {"a": {"b": 1}, "list": [1, 2], "x/y": 1, "m~n": 2, "no": False},
    "properties": {"cpus": 4},
    "driver_info": {"redfish_password": "geheim", "redfish_username": "admin"},
    "description": "old",
}


@pytest.fixture
def uuid(house: House) -> str:
    return house.node(**START)


@pytest.mark.parametrize(
    ("patch", "field", "value"),
    [
        ([], "description", "old"),
        ([{"op": "add", "path": "/description", "value": "new"}], "description", "new"),
        ([{"op": "replace", "path": "/description", "value": "new"}], "description", "new"),
        ([{"op": "remove", "path": "/description"}], "description", None),
        ([{"op": "remove", "path": "/extra"}], "extra", {}),
        ([{"op": "remove", "path": "/conductor_group"}], "conductor_group", ""),
        ([{"op": "remove", "path": "/automated_clean"}], "automated_clean", None),
        ([{"op": "add", "path": "/properties/memory_mb", "value": 1}], "properties", {"cpus": 4, "memory_mb": 1}),
        ([{"op": "replace", "path": "/properties/cpus", "value": 8}], "properties", {"cpus": 8}),
        ([{"op": "remove", "path": "/properties/cpus"}], "properties", {}),
        ([{"op": "add", "path": "/properties", "value": {"a": 1}}], "properties", {"a": 1}),
        ([{"op": "move", "from": "/properties/cpus", "path": "/properties/c"}], "properties", {"c": 4}),
        ([{"op": "copy", "from": "/properties/cpus", "path": "/properties/c"}], "properties", {"cpus": 4, "c": 4}),
        ([{"op": "copy", "from": "/extra/a", "path": "/properties/a"}], "properties", {"cpus": 4, "a": {"b": 1}}),
        (
            [{"op": "copy", "from": "/driver_info/redfish_password", "path": "/driver_info/old_password"}],
            "driver_info",
            {"redfish_password": "******", "redfish_username": "admin", "old_password": "******"},
        ),
        ([{"op": "test", "path": "/name", "value": "n1"}, {"op": "remove", "path": "/name"}], "name", None),
        ([{"op": "replace", "path": "/maintenance", "value": "true"}], "maintenance", True),
        ([{"op": "add", "path": "/instance_uuid", "value": NODE.upper()}], "instance_uuid", NODE),
        ([{"op": "add", "path": "/instance_info/display_name", "value": "vm"}], "instance_name", "vm"),
    ],
)
def test_a_patch_changes_what_it_says(
    house: House, uuid: str, patch: list[dict[str, Any]], field: str, value: Any
) -> None:
    answer = house.call("PATCH", f"/nodes/{uuid}", patch)
    assert answer.status_code == 200, answer.text
    assert answer.json()[field] == value
    assert house.call("GET", f"/nodes/{uuid}").json()[field] == value


def test_escaped_keys_and_lists_can_be_reached(house: House, uuid: str) -> None:
    patch = [
        {"op": "replace", "path": "/extra/x~1y", "value": 5},
        {"op": "remove", "path": "/extra/m~0n"},
        {"op": "add", "path": "/extra/list/-", "value": 3},
        {"op": "add", "path": "/extra/a/c", "value": None},
    ]
    extra = house.call("PATCH", f"/nodes/{uuid}", patch).json()["extra"]
    assert extra == {"a": {"b": 1, "c": None}, "list": [1, 2, 3], "x/y": 5, "no": False}


@pytest.mark.parametrize(("path", "value"), [("/extra/no", 0), ("/extra/a/b", True), ("/properties/cpus", 4.0)])
def test_a_number_is_no_boolean_and_a_change_between_them_is_kept(
    house: House, uuid: str, path: str, value: object
) -> None:
    assert house.call("PATCH", f"/nodes/{uuid}", [{"op": "replace", "path": path, "value": value}]).status_code == 200
    found: Any = house.call("GET", f"/nodes/{uuid}").json()
    for key in path.strip("/").split("/"):
        found = found[key]
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    "patch",
    [
        {},
        "text",
        None,
        [5],
        [{}],
        [{"op": "add"}],
        [{"op": "add", "path": "/extra/z"}],
        [{"op": "add", "path": "", "value": {}}],
        [{"op": "add", "path": "/", "value": {}}],
        [{"op": "add", "path": "extra/z", "value": 1}],
        [{"op": "add", "path": 5, "value": 1}],
        [{"op": "mix", "path": "/extra/z", "value": 1}],
        [{"op": "add", "path": "/colour", "value": 1}],
        [{"op": "replace", "path": "/extra/missing", "value": 1}],
        [{"op": "remove", "path": "/extra/missing"}],
        [{"op": "remove", "path": "/extra/a/b/c/d"}],
        [{"op": "add", "path": "/extra/missing/deeper", "value": 1}],
        [{"op": "add", "path": "/extra/list/9", "value": 1}],
        [{"op": "add", "path": "/description/deeper", "value": 1}],
        [{"op": "remove", "path": "/driver"}],
        [{"op": "replace", "path": "/driver", "value": "nope"}],
        [{"op": "replace", "path": "/uuid", "value": NODE}],
        [{"op": "replace", "path": "/provision_state", "value": "active"}],
        [{"op": "replace", "path": "/maintenance_reason", "value": "x"}],
        [{"op": "add", "path": "/traits/-", "value": "CUSTOM_A"}],
        [{"op": "add", "path": "/links", "value": []}],
        [{"op": "add", "path": "/boot_mode", "value": "uefi"}],
        [{"op": "replace", "path": "/extra", "value": None}],
        [{"op": "replace", "path": "/name", "value": "a b"}],
        [{"op": "add", "path": "/extra/k", "value": {"$sealed": "x"}}],
        [{"op": "move", "from": "/extra", "path": "/properties"}],
        [{"op": "move", "path": "/properties"}],
        [{"op": "copy", "from": "/driver_info/redfish_password", "path": "/extra/seen"}],
        [{"op": "copy", "from": "/driver_info", "path": "/extra/seen"}],
        [{"op": "copy", "from": "/driver_info/redfish_password", "path": "/driver_info/note"}],
        [{"op": "move", "from": "/driver_info/redfish_password", "path": "/driver_info/note"}],
        [{"op": "test", "path": "/driver_info/redfish_password", "value": "geheim"}],
        [{"op": "test", "path": "/driver_info/redfish_username", "value": "admin"}],
        [{"op": "test", "path": "/instance_info", "value": {}}],
        [{"op": "test", "path": "/name", "value": "other"}],
        [{"op": "test", "path": "/extra/no", "value": 0}],
        [{"op": "test", "path": "/extra/missing", "value": None}],
        [{"op": "test", "path": "/extra/list/-", "value": 1}],
        [{"op": "copy", "from": "/extra/list/-", "path": "/extra/b"}],
        [{"op": "replace", "path": "/maintenance", "value": 0}],
        [{"op": "replace", "path": "/disable_power_off", "value": 0}],
        [{"op": "replace", "path": "/properties/cpus", "value": 5}, {"op": "add", "path": "/retired", "value": 0}],
    ],
)
def test_a_patch_that_does_not_fit_is_400_and_changes_nothing(house: House, uuid: str, patch: Any) -> None:
    before = house.call("GET", f"/nodes/{uuid}").json()
    first = [{"op": "add", "path": "/extra/first", "value": 1}]
    answer = house.call("PATCH", f"/nodes/{uuid}", first + patch if isinstance(patch, list) else patch)
    assert answer.status_code == 400, answer.text
    assert fault(answer)
    assert house.call("GET", f"/nodes/{uuid}").json() == before


def test_secrets_survive_a_patch_beside_them(house: House, uuid: str) -> None:
    house.call("PATCH", f"/nodes/{uuid}", [{"op": "replace", "path": "/driver_info/redfish_username", "value": "root"}])
    stored = house.stored(uuid).driver_info
    assert "geheim" not in str(stored)
    assert house.parts.sealer.unseal(stored) == {"redfish_password": "geheim", "redfish_username": "root"}
    assert house.call("GET", f"/nodes/{uuid}").json()["driver_info"]["redfish_password"] == "******"


def test_a_masked_value_sent_back_is_taken_literally(house: House, uuid: str) -> None:
    house.call("PATCH", f"/nodes/{uuid}", [{"op": "add", "path": "/driver_info/redfish_password", "value": "******"}])
    assert house.parts.sealer.unseal(house.stored(uuid).driver_info)["redfish_password"] == "******"


def test_both_forms_by_which_nova_cleans_up_work(house: House, uuid: str) -> None:
    house.call("PATCH", f"/nodes/{uuid}", [{"op": "add", "path": "/instance_uuid", "value": NODE}])
    patch = [
        {"op": "replace", "path": "/instance_uuid", "value": None},
        {"op": "add", "path": "/instance_info", "value": {}},
    ]
    answer = house.call("PATCH", f"/nodes/{uuid}", patch).json()
    assert (answer["instance_uuid"], answer["instance_info"]) == (None, {})
    assert house.call("PATCH", f"/nodes/{uuid}", [{"op": "remove", "path": "/instance_uuid"}]).status_code == 200

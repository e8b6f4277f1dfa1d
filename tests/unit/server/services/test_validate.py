# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.server.api_house import House

KEYS = {
    *("bios", "boot", "console", "deploy", "firmware", "inspect", "management", "network", "power", "raid"),
    *("rescue", "storage"),
}
BMC = {"redfish_address": "https://192.0.2.1"}
RAMDISK = {"deploy_kernel": "http://k", "deploy_ramdisk": "http://r"}


def report(house: House, **fields: Any) -> dict[str, Any]:
    uuid = house.node(**fields)
    found: dict[str, Any] = house.call("GET", f"/nodes/{uuid}/validate").json()
    return found


def test_every_interface_but_vendor_is_reported(tmp_path: Path) -> None:
    found = report(House(tmp_path))
    assert set(found) == KEYS
    assert all(each == {"result": True} for each in found.values())


@pytest.mark.parametrize(
    ("info", "instance", "wrong"),
    [
        ({}, {}, {"power": "redfish_address", "management": "redfish_address", "boot": "deploy_kernel"}),
        (BMC, {}, {"boot": "deploy_ramdisk", "deploy": "image_source"}),
        (BMC | {"redfish_address": ""}, {}, {"power": "URL of the BMC"}),
        (BMC | RAMDISK, {"image_source": "http://i/x"}, {"deploy": "image_checksum"}),
        (BMC | RAMDISK, {"image_source": "http://i/x", "image_os_hash_algo": "sha256"}, {"deploy": "image_checksum"}),
        (BMC | RAMDISK, {"image_source": 5}, {"deploy": "image_source"}),
    ],
)
def test_what_is_missing_is_named(
    tmp_path: Path, info: dict[str, Any], instance: dict[str, Any], wrong: dict[str, str]
) -> None:
    found = report(House(tmp_path), driver="redfish", driver_info=info, instance_info=instance)
    for kind, hint in wrong.items():
        assert found[kind]["result"] is False
        assert hint in found[kind]["reason"]


@pytest.mark.parametrize(
    "image",
    [
        {"image_source": "http://i/x", "image_checksum": "abc"},
        {"image_source": "https://i/x", "image_os_hash_algo": "sha256", "image_os_hash_value": "abc"},
        {"image_source": "file:///images/x"},
    ],
)
def test_a_node_with_everything_is_valid(tmp_path: Path, image: dict[str, str]) -> None:
    found = report(House(tmp_path), driver="redfish", driver_info=BMC | RAMDISK, instance_info=image)
    assert {kind for kind, each in found.items() if not each["result"]} == {
        "bios",
        "console",
        "firmware",
        "raid",
        "rescue",
    }


def test_the_ramdisk_may_stand_in_the_settings(tmp_path: Path) -> None:
    house = House(tmp_path, deploy_kernel="http://k", deploy_ramdisk="http://r")
    assert report(house, driver="redfish", driver_info=BMC)["boot"] == {"result": True}


def test_an_interface_that_no_role_implements_any_more_is_told(tmp_path: Path) -> None:
    house = House(tmp_path)
    uuid = house.node()
    house.set(uuid, power_interface="gone", driver="fake-hardware")
    found = house.call("GET", f"/nodes/{uuid}/validate").json()
    assert (found["power"]["result"], "gone" in found["power"]["reason"]) == (False, True)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from typing import Any

import pytest

from rackwright.engine import inventory
from rackwright.engine.inventory import ReportInvalid


def report(**inventory_keys: Any) -> dict[str, Any]:
    interfaces = [{"name": "eth0", "mac_address": "52:54:00:aa:bb:01"}]
    return {"inventory": {"interfaces": interfaces, **inventory_keys}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("52:54:00:AA:BB:01", "52:54:00:aa:bb:01"),
        ("52-54-00-aa-bb-01", "52:54:00:aa:bb:01"),
        ("01-52-54-00-aa-bb-01", "52:54:00:aa:bb:01"),
        (" 52:54:00:aa:bb:01\n", "52:54:00:aa:bb:01"),
        (":".join(["00"] * 20), None),
        ("52:54:00:aa:bb", None),
        ("52:54:00:aa:bb:0g", None),
        ("", None),
        (None, None),
        (12, None),
    ],
)
def test_hardware_addresses_are_normalised_and_others_are_none(text: object, expected: str | None) -> None:
    assert inventory.mac(text) == expected


def test_addresses_are_listed_once_in_their_order() -> None:
    assert inventory.macs(["52:54:00:00:00:02", "bad", "52:54:00:00:00:01", "52-54-00-00-00-02"]) == [
        "52:54:00:00:00:02",
        "52:54:00:00:00:01",
    ]


@pytest.mark.parametrize(
    ("addresses", "expected"),
    [
        (["fa:4b:7f:00:00:01", "00:1b:21:00:00:01"], ["00:1b:21:00:00:01"]),
        (["0a:ca:fe:f0:0d:04", "52:54:00:00:00:01"], ["52:54:00:00:00:01"]),
        (["fa:4b:7f:00:00:01", "02:00:00:00:00:01"], ["02:00:00:00:00:01"]),
        (["fa:16:3e:00:00:01", "02:00:00:00:00:01"], ["fa:16:3e:00:00:01"]),
        (["fa:4b:7f:00:00:01"], ["fa:4b:7f:00:00:01"]),
        ([], []),
    ],
)
def test_locally_administered_addresses_identify_only_a_machine_without_others(
    addresses: list[str], expected: list[str]
) -> None:
    assert inventory.identifying(addresses) == expected


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "text",
        {},
        {"inventory": None},
        {"inventory": []},
        {"inventory": {}},
        {"inventory": {"interfaces": []}},
        {"inventory": {"interfaces": {}}},
        {"inventory": {"interfaces": [1]}},
        {"inventory": {"interfaces": [{"name": "eth0"}]}},
        {"inventory": {"interfaces": [{"mac_address": 5}]}},
        report(bmc_address=1),
        report(bmc_v6address=["::1"]),
    ],
)
def test_a_report_of_the_wrong_form_is_refused(body: object) -> None:
    with pytest.raises(ReportInvalid):
        inventory.check(body)


def test_everything_beside_the_inventory_is_plugin_data() -> None:
    found, plugin_data, notes = inventory.check({**report(), "error": None, "data": [["cpu", "0", "vendor", "x"]]})
    assert found["interfaces"][0]["name"] == "eth0"
    assert plugin_data == {"error": None, "data": [["cpu", "0", "vendor", "x"]]}
    assert notes == []


def test_unstorable_characters_and_numbers_are_replaced_and_noted() -> None:
    body = report(system_vendor={"manufacturer": "\x00", "product_name": "half \ud83d"}, hostname=float("nan"))
    found, _, notes = inventory.check(body)
    assert found["system_vendor"] == {"manufacturer": "\ufffd", "product_name": "half \ufffd"}
    assert found["hostname"] is None
    assert json.dumps(found, allow_nan=False).encode()
    assert [note.field for note in notes] == [
        "inventory.system_vendor.manufacturer",
        "inventory.system_vendor.product_name",
        "inventory.hostname",
    ]


def test_keys_are_repaired_like_values() -> None:
    _, plugin_data, notes = inventory.check({**report(), "dmi": {"a\x00b": 1}})
    assert plugin_data["dmi"] == {"a\ufffdb": 1}
    assert [note.field for note in notes] == ["dmi"]


def test_interfaces_without_an_address_and_disks_without_a_size_are_noted() -> None:
    body = report(disks=[{"name": "/dev/sda", "size": 0}, {"name": "/dev/sdb", "size": 10}, "text"])
    body["inventory"]["interfaces"].append({"name": "eth1", "mac_address": None})
    found, _, notes = inventory.check(body)
    assert [note.field for note in notes] == ["inventory.interfaces[1].mac_address", "inventory.disks[0].size"]
    assert inventory.usable_disks(found) == [{"name": "/dev/sdb", "size": 10}]


def test_unset_bmc_addresses_are_left_out() -> None:
    assert inventory.bmc_addresses({"bmc_address": "192.0.2.1", "bmc_v6address": "::/0"}) == ["192.0.2.1"]
    assert inventory.bmc_addresses({"bmc_address": "0.0.0.0", "bmc_v6address": None}) == []


def test_a_bond_does_not_identify_a_machine_that_has_real_interfaces() -> None:
    bond = {"name": "bond0", "mac_address": "00:1b:21:00:00:09"}
    real = {"name": "eth0", "mac_address": "00:1b:21:00:00:01"}
    assert inventory.hardware_addresses([bond, real]) == ["00:1b:21:00:00:01"]
    assert inventory.hardware_addresses([bond]) == ["00:1b:21:00:00:09"]

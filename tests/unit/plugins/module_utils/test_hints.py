# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Root device hints: exactly one disk or an error that names the disks."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.plugins.module_utils._hints import GIB, KNOWN_HINTS, find

SDA = {
    "name": "/dev/sda",
    "model": "Fast SSD 870",
    "size": 480 * GIB + 123,
    "rotational": False,
    "wwn": "0x5002538F1",
    "serial": "S1AB",
    "vendor": "Acme",
    "wwn_with_extension": "0x5002538f1ab",
    "wwn_vendor_extension": "0xab",
    "hctl": "0:0:0:0",
    "by_path": "/dev/disk/by-path/pci-0000:00:1f.2-ata-1",
    "tran": "sata",
}
SDB = {
    "name": "/dev/sdb",
    "model": "Slow HDD",
    "size": 4000 * GIB,
    "rotational": True,
    "wwn": "0x5002538F2",
    "serial": "S2CD",
    "vendor": "Other",
    "wwn_with_extension": None,
    "wwn_vendor_extension": None,
    "hctl": "1:0:0:0",
    "by_path": "/dev/disk/by-path/pci-0000:00:1f.2-ata-2",
    "tran": "sas",
}
STICK = {"name": "/dev/sdc", "model": "Stick", "size": 2 * GIB, "rotational": False, "serial": "77", "vendor": "USB Co"}
DISKS = [SDB, SDA, STICK]


@pytest.mark.parametrize("name", [name for name in KNOWN_HINTS if name != "size"])
def test_each_hint_as_a_plain_value_chooses_the_disk_that_has_it(name: str) -> None:
    assert find({name: SDA[name], "size": 480}, DISKS) is SDA


@pytest.mark.parametrize(
    ("hints", "chosen"),
    [
        ({"size": 480}, SDA),
        ({"size": "480"}, SDA),
        ({"size": "== 480"}, SDA),
        ({"size": "= 481"}, SDB),
        ({"size": ">=481"}, SDB),
        ({"size": "> 480"}, SDB),
        ({"size": "<= 2"}, STICK),
        ({"size": "< 480"}, STICK),
        ({"size": "!= 2", "rotational": False}, SDA),
        ({"size": "<or> 480 <or> 500"}, SDA),
        ({"size": "<range-in> [ 480 500 ]"}, SDA),
        ({"size": "<range-in> ( 479 481 )"}, SDA),
        ({"size": "<range-in> ( 480 4000 ]"}, SDB),
        ({"size": "<range-in> [ 480 4000 )"}, SDA),
        ({"model": "s== slow hdd"}, SDB),
        ({"model": "slow HDD"}, SDB),
        ({"model": "fast%20ssd%20870"}, SDA),
        ({"model": "<in> SSD"}, SDA),
        ({"model": "<all-in> 870 fast"}, SDA),
        ({"model": "<or> Slow HDD <or> Old HDD"}, SDB),
        ({"name": "s!= /dev/sda", "vendor": "s!= other"}, STICK),
        ({"name": "s>= /dev/sdc"}, STICK),
        ({"name": "s> /dev/sdb"}, STICK),
        ({"name": "s<= /dev/sda"}, SDA),
        ({"name": "s< /dev/sdb"}, SDA),
        ({"serial": "== 77"}, STICK),
        ({"rotational": True}, SDB),
        ({"rotational": "yes"}, SDB),
        ({"rotational": "0", "size": ">= 4"}, SDA),
        ({"wwn_vendor_extension": "s!= 0xcd"}, SDA),
    ],
)
def test_hints_choose_the_one_disk_they_fit(hints: dict[str, Any], chosen: dict[str, Any]) -> None:
    assert find(hints, DISKS) is chosen


def test_hints_that_fit_no_disk_are_an_error_that_names_all_disks() -> None:
    with pytest.raises(OperationError, match="fit none of the disks") as caught:
        find({"serial": "ZZZ"}, DISKS)
    for disk in DISKS:
        assert str(disk["name"]) in str(caught.value)
        assert str(disk["serial"]) in str(caught.value)


def test_hints_that_fit_two_disks_are_an_error_that_names_both() -> None:
    with pytest.raises(OperationError, match=r"fit 2 disks \(/dev/sda .*; /dev/sdc .*\)"):
        find({"rotational": False}, [SDA, SDB, STICK])


def test_a_disk_without_the_hinted_value_never_fits_not_even_a_negation() -> None:
    with pytest.raises(OperationError, match="fit none"):
        find({"wwn_with_extension": "s!= 0x1"}, [SDB, STICK])


def test_without_hints_it_is_the_smallest_disk_of_at_least_four_gib() -> None:
    assert find(None, DISKS) is SDA
    assert find({}, DISKS) is SDA
    exact = {"name": "/dev/vda", "size": 4 * GIB}
    assert find(None, [*DISKS, exact, {"name": "/dev/vdb", "size": 4 * GIB - 1}]) is exact


def test_without_hints_two_smallest_disks_are_an_error_that_asks_for_root_device() -> None:
    twin = {**SDA, "name": "/dev/sdd", "serial": "S9"}
    with pytest.raises(OperationError, match=r"2 disks \(/dev/sda.*/dev/sdd.*Set root_device"):
        find(None, [SDA, SDB, twin])


def test_without_hints_and_without_a_disk_that_is_big_enough_there_is_an_error() -> None:
    with pytest.raises(OperationError, match="fit none of the disks"):
        find(None, [STICK])
    with pytest.raises(OperationError, match="disks seen: none"):
        find(None, [])


def test_skipped_disks_are_never_chosen() -> None:
    assert find(None, DISKS, skip=[{"name": "/dev/sda"}, {"vendor": "nobody"}]) is SDB
    with pytest.raises(OperationError, match="fit none"):
        find({"serial": "S1AB"}, DISKS, skip=[{"rotational": False}])


@pytest.mark.parametrize(
    ("hints", "complaint"),
    [
        ({"colour": "red", "serial": "S1AB"}, "unknown hint colour"),
        ({"size": "big"}, "'big' is none"),
        ({"size": ">= many"}, "'many' is none"),
        ({"size": True}, "says nothing about a disk"),
        ({"serial": ""}, "says nothing about a disk"),
        ({"serial": None}, "says nothing about a disk"),
        ({"serial": ["S1AB"]}, "says nothing about a disk"),
        ({"rotational": "perhaps"}, "must be true or false"),
        ({"model": "<in>"}, "nothing after the operator <in>"),
        ({"size": "<range-in> 1 2"}, "needs a range"),
        ({"size": "<range-in> [ 1 b ]"}, "'b' is none"),
    ],
)
def test_hints_without_meaning_are_refused_before_any_disk_is_looked_at(hints: dict[str, Any], complaint: str) -> None:
    with pytest.raises(OperationError, match=complaint):
        find(hints, [])


def test_an_empty_skip_entry_is_refused_because_it_would_skip_every_disk() -> None:
    with pytest.raises(OperationError, match="unknown hint"):
        find(None, DISKS, skip=[{}])

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from rackwright.engine.root_device import HintInvalid, choose

GIB = 1024**3
DISKS: list[dict[str, Any]] = [
    {"name": "/dev/sda", "size": 100 * GIB, "model": "Fast NVMe", "serial": "S1", "rotational": False, "wwn": None},
    {"name": "/dev/sdb", "size": 500 * GIB, "model": "Slow Disk", "serial": "S2", "rotational": True, "wwn": "0x5"},
    {"name": "/dev/sdc", "size": 900 * GIB, "model": "Slow Disk", "serial": "S3", "rotational": True, "wwn": "0x6"},
]


@pytest.mark.parametrize(
    ("hints", "name"),
    [
        ({"name": "/dev/sdb"}, "/dev/sdb"),
        ({"serial": "s3"}, "/dev/sdc"),
        ({"size": 100}, "/dev/sda"),
        ({"size": "100"}, "/dev/sda"),
        ({"size": "> 600"}, "/dev/sdc"),
        ({"size": ">=900"}, "/dev/sdc"),
        ({"size": "< 200"}, "/dev/sda"),
        ({"size": "= 900"}, "/dev/sdc"),
        ({"size": "== 500"}, "/dev/sdb"),
        ({"size": "<range-in> [ 400 600 ]"}, "/dev/sdb"),
        ({"size": "<range-in> ( 100 900 )"}, "/dev/sdb"),
        ({"size": "<or> 100 <or> 7"}, "/dev/sda"),
        ({"model": "<in> nvme"}, "/dev/sda"),
        ({"model": "<all-in> fast nvme"}, "/dev/sda"),
        ({"model": "s!= slow disk"}, "/dev/sda"),
        ({"serial": "<or> S9 <or> S2"}, "/dev/sdb"),
        ({"rotational": False}, "/dev/sda"),
        ({"rotational": "false"}, "/dev/sda"),
        ({"wwn": "0x6"}, "/dev/sdc"),
        ({"model": "slow disk", "size": "> 600"}, "/dev/sdc"),
    ],
)
def test_hints_choose_the_disk_that_they_mean(hints: dict[str, Any], name: str) -> None:
    assert choose(DISKS, hints)["name"] == name


@pytest.mark.parametrize(
    ("hints", "text"),
    [
        ({"model": "slow disk"}, "several disks (/dev/sdb, /dev/sdc)"),
        ({"serial": "nothing"}, "none of the disks (/dev/sda, /dev/sdb, /dev/sdc)"),
        ({"colour": "red"}, "unknown"),
        ({"size": "> many"}, "is no number"),
        ({"size": "<range-in> 1 2"}, "a range is written"),
        ("/dev/sda", "must be an object"),
    ],
)
def test_hints_that_do_not_mean_one_disk_are_refused(hints: object, text: str) -> None:
    with pytest.raises(HintInvalid) as refused:
        choose(DISKS, hints)
    assert text in str(refused.value)

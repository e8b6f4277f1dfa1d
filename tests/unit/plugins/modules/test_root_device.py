# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rackwright.metal.tests.unit.plugins.agent_server import AgentServer

GIB = 1 << 30
DISKS = [
    {"name": "/dev/sda", "size": 8 * GIB, "serial": "SAME", "wwn": "0xa", "model": "A"},
    {"name": "/dev/sdb", "size": 6 * GIB, "serial": "same", "wwn": "0xb", "model": "B"},
    {"name": "/dev/sdc", "size": 16 * GIB, "serial": "<or> C", "wwn": None, "by_path": None, "model": "C"},
]


@pytest.mark.parametrize(
    ("options", "name", "hint"),
    [
        ({}, "/dev/sdb", {"wwn": "s== 0xb"}),
        ({"hints": {"model": "a"}}, "/dev/sda", {"wwn": "s== 0xa"}),
        ({"hints": {"size": ">= 16"}}, "/dev/sdc", {"name": "s== /dev/sdc"}),
        ({"skip_block_devices": [{"wwn": "0xb"}]}, "/dev/sda", {"wwn": "s== 0xa"}),
    ],
)
def test_the_disk_is_chosen_with_a_hint_of_its_own(
    agent: AgentServer, module: Any, options: dict[str, Any], name: str, hint: dict[str, str]
) -> None:
    agent.answers["poll.get_hardware_info"] = lambda _: {"disks": DISKS}
    chosen = module("root_device", **agent.options(), **options)["root_device"]
    assert (chosen["name"], chosen["hint"]) == (name, hint)


@pytest.mark.parametrize(
    ("hints", "said"), [({"serial": "none"}, "none of the disks"), ({"serial": "same"}, "2 disks")]
)
def test_hints_that_fit_no_disk_or_two_are_an_error_with_all_disks(
    agent: AgentServer, module: Any, hints: dict[str, str], said: str
) -> None:
    agent.answers["poll.get_hardware_info"] = lambda _: {"disks": DISKS}
    answer = module("root_device", **agent.options(), hints=hints)
    assert said in answer["msg"]
    assert all(disk["name"] in answer["msg"] for disk in DISKS)

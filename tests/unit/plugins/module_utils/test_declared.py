# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import jsonpatch

from ansible_collections.rackwright.metal.plugins.module_utils._declared import MASK, difference

BEFORE = {
    "driver": "redfish",
    "driver_info": {"redfish_address": "https://bmc", "redfish_password": MASK},
    "properties": {"cpus": 4, "memory_mb": 1024},
    "description": None,
}


def test_the_difference_brings_the_wanted_values_in() -> None:
    wanted = {"description": "new", "properties": {"cpus": 8, "root_device": {"serial": "x"}}}
    after = jsonpatch.apply_patch(BEFORE, difference(BEFORE, wanted))
    assert after == {
        **BEFORE,
        "description": "new",
        "properties": {"cpus": 8, "memory_mb": 1024, "root_device": {"serial": "x"}},
    }


def test_equal_values_need_no_patch() -> None:
    assert difference(BEFORE, {"driver": "redfish", "properties": {"cpus": 4}}) == []


def test_keys_with_slash_and_tilde_are_escaped() -> None:
    before = {"extra": {"a/b": 1, "m~n": 2}}
    after = jsonpatch.apply_patch(before, difference(before, {"extra": {"a/b": 3, "m~n": 4, "~1": 5}}))
    assert after == {"extra": {"a/b": 3, "m~n": 4, "~1": 5}}


def test_a_masked_secret_is_left_alone_unless_it_is_to_be_written() -> None:
    wanted = {"driver_info": {"redfish_password": "new"}}
    assert difference(BEFORE, wanted) == []
    assert difference(BEFORE, wanted, update_secrets=True) == [
        {"op": "replace", "path": "/driver_info/redfish_password", "value": "new"}
    ]


def test_a_url_whose_password_the_api_masks_is_the_same_url() -> None:
    before = {"driver_info": {"redfish_address": f"https://root:{MASK}@bmc"}}
    assert difference(before, {"driver_info": {"redfish_address": "https://root:geheim@bmc"}}) == []
    assert difference(before, {"driver_info": {"redfish_address": "https://root:geheim@other"}}) != []

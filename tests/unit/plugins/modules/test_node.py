# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.rackwright.metal.tests.unit.plugins.api_server import ApiServer, fault

DECLARED = {
    "name": "web-1",
    "driver": "redfish",
    "driver_info": {"redfish_address": "https://bmc", "redfish_password": "canary"},
    "properties": {"capabilities": "boot_mode:uefi"},
    "interfaces": {"inspect": "no-inspect"},
}


@pytest.fixture
def declare(api: ApiServer, module: Any) -> Callable[..., dict[str, Any]]:
    return lambda **options: module("node", api_url=api.url, **{**DECLARED, **options})


def mask(api: ApiServer) -> None:
    """Show the password as the daemon does."""
    api.nodes[0]["driver_info"]["redfish_password"] = "******"


def test_a_node_that_is_not_there_is_created(api: ApiServer, declare: Any) -> None:
    answer = declare()
    assert answer["changed"] and answer["node"]["uuid"] == api.nodes[0]["uuid"]
    assert api.nodes[0]["driver_info"] == DECLARED["driver_info"]
    assert api.nodes[0]["inspect_interface"] == "no-inspect"
    assert answer["diff"]["before"] == {}


def test_a_node_that_is_as_declared_is_left_alone(api: ApiServer, declare: Any) -> None:
    declare()
    mask(api)
    assert not declare()["changed"]
    assert [method for method, _path in api.writes()] == ["POST"]


def test_what_inspection_added_stays(api: ApiServer, declare: Any) -> None:
    declare()
    mask(api)
    api.nodes[0]["properties"]["cpus"] = 4
    assert declare(properties={"capabilities": "boot_mode:bios"})["changed"]
    assert api.nodes[0]["properties"] == {"capabilities": "boot_mode:bios", "cpus": 4}


def test_a_secret_is_written_again_only_when_that_is_wanted(api: ApiServer, declare: Any) -> None:
    declare()
    for options, changed in (({}, False), ({"update_secrets": "always"}, True)):
        mask(api)
        assert declare(**options)["changed"] is changed
        mask(api)
        assert declare(**options, _ansible_check_mode=True)["changed"] is changed
    assert [method for method, _path in api.writes()] == ["POST", "PATCH"]


def test_check_mode_changes_nothing_and_shows_no_secret(api: ApiServer, declare: Any) -> None:
    created = declare(extra={"nested": [{"token": "canary"}]}, _ansible_check_mode=True)
    assert created["changed"] and api.writes() == []
    declare()
    mask(api)
    changed = declare(extra={"rack": "A"}, driver_info={"snmp_auth_key": "canary"}, _ansible_check_mode=True)
    assert changed["changed"] and changed["diff"]["after"]["extra"] == {"rack": "A"}
    assert "canary" not in str(created["diff"]) + str(changed["diff"])
    assert len(api.writes()) == 1


def test_a_node_is_removed_once(api: ApiServer, declare: Any) -> None:
    declare()
    assert declare(state="absent", _ansible_check_mode=True)["changed"]
    assert api.nodes
    removed = declare(state="absent")
    assert removed["changed"] and removed["node"] is None
    assert api.nodes == []
    assert not declare(state="absent")["changed"]


def test_a_node_that_may_not_be_removed_is_a_failure(api: ApiServer, declare: Any) -> None:
    declare()
    api.prepared = [(200, api.nodes[0]), (400, fault("Node web-1 is active."))]
    answer = declare(state="absent")
    assert answer["failed"] and answer["msg"] == "The API refused: HTTP 400: Node web-1 is active."

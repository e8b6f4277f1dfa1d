# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ansible_collections.rackwright.metal.tests.unit.plugins.api_server import ApiServer

MAC = "52:54:00:AA:00:01"


@pytest.fixture
def declare(api: ApiServer, module: Any) -> Callable[..., dict[str, Any]]:
    api.add("web-1")
    return lambda **options: module("port", api_url=api.url, **{"node": "web-1", "address": MAC, **options})


def test_a_port_is_created_with_the_uuid_of_its_node(api: ApiServer, declare: Any) -> None:
    answer = declare()
    assert answer["changed"] and answer["port"] == api.ports[0]
    assert api.ports[0]["node_uuid"] == api.nodes[0]["uuid"]
    assert api.ports[0]["address"] == MAC.lower()


def test_a_port_that_is_as_declared_is_left_alone(api: ApiServer, declare: Any) -> None:
    declare()
    assert not declare()["changed"]
    assert len(api.writes()) == 1


def test_a_port_is_changed_where_it_differs(api: ApiServer, declare: Any) -> None:
    declare()
    assert declare(pxe_enabled=False, _ansible_check_mode=True)["changed"]
    assert "pxe_enabled" not in api.ports[0]
    assert declare(pxe_enabled=False)["changed"]
    assert api.ports[0]["pxe_enabled"] is False


def test_a_port_is_removed_once(api: ApiServer, declare: Any) -> None:
    declare()
    assert declare(state="absent")["changed"]
    assert api.ports == []
    assert not declare(state="absent")["changed"]


def test_check_mode_foresees_the_port_of_a_node_that_is_yet_to_be_created(api: ApiServer, declare: Any) -> None:
    answer = declare(node="web-2", _ansible_check_mode=True)
    assert answer["changed"] and answer["port"]["node_uuid"] == "web-2"
    assert api.writes() == []

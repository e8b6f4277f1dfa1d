# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.tests.unit.plugins.api_server import PAGE, ApiServer


def test_all_nodes_are_read_page_after_page(api: ApiServer, module: Any) -> None:
    names = [api.add(f"web-{number}")["name"] for number in range(PAGE + 1)]
    answer = module("node_info", api_url=api.url)
    assert [node["name"] for node in answer["nodes"]] == names
    assert not answer["changed"]


def test_only_the_fields_that_are_wanted_are_asked_for(api: ApiServer, module: Any) -> None:
    module("node_info", api_url=api.url, fields=["name", "provision_state"])
    assert api.requests == [("GET", "/v1/nodes?fields=name%2Cprovision_state")]


def test_one_node_is_read_by_its_name(api: ApiServer, module: Any) -> None:
    api.add("web 1")
    (node,) = module("node_info", api_url=api.url, name="web 1")["nodes"]
    assert node["name"] == "web 1"
    assert module("node_info", api_url=api.url, name="gone")["nodes"] == []

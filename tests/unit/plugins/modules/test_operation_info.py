# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.tests.unit.plugins.api_server import ApiServer, fault

OPERATION = {
    "phase": "clean",
    "finished_at": "2026-01-01T00:00:10+00:00",
    "timeline": [{"at": "2026-01-01T00:00:00+00:00", "step": "deploy.erase_devices", "activity": "runs"}],
}


def test_the_operations_of_a_node_come_with_a_table_of_their_time(api: ApiServer, module: Any) -> None:
    api.prepared = [(200, {"operations": [OPERATION]})]
    answer = module("operation_info", api_url=api.url, node="web 1")
    assert api.requests == [("GET", "/rackwright/v1/nodes/web%201/operations")]
    assert answer["operations"] == [OPERATION] and not answer["changed"]
    (line,) = answer["table"]
    assert line.split() == ["0.0", "s", "10.0", "s", "clean", "deploy.erase_devices", "runs"]


def test_moments_that_come_after_are_told_too(api: ApiServer, module: Any) -> None:
    api.prepared = [(200, {"operations": [OPERATION]})]
    moments = [{"at": 1767225612.0, "mark": "kernel"}, {"at": 1767225613.5, "mark": "ready"}]
    answer = module("operation_info", api_url=api.url, node="web-1", moments=moments)
    assert [(line.split()[2], line.split()[-1]) for line in answer["table"]] == [
        ("10.0", "runs"),
        ("2.0", "waits"),
        ("1.5", "kernel"),
    ]


def test_another_server_than_ours_is_a_failure(api: ApiServer, module: Any) -> None:
    api.prepared = [(404, fault("Not found."))]
    answer = module("operation_info", api_url=api.url, node="web-1")
    assert answer["failed"] and "HTTP 404" in answer["msg"]

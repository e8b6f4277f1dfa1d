# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import time
from typing import Any

import pytest

from ansible_collections.rackwright.metal.tests.unit.plugins.image_server import ImageServer


def serve(images: ImageServer, **fields: Any) -> None:
    node = {"provision_state": "manageable", "last_error": None, **fields}
    images.files["/v1/nodes/rack%201"] = json.dumps(node).encode()
    images.files["/v1/nodes/rack%201/inventory"] = b'{"inventory": {"cpu": {"count": 8}}}'


def test_the_inventory_comes_when_the_inspection_has_ended(
    images: ImageServer, module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(images, provision_state="inspect wait")
    monkeypatch.setattr(time, "sleep", lambda _: serve(images))
    answer = module("await_inventory", api_url=images.url, node="rack 1")
    assert answer["inventory"] == {"cpu": {"count": 8}}


def test_a_failed_inspection_is_an_error_with_its_cause(images: ImageServer, module: Any) -> None:
    serve(images, provision_state="inspect failed", last_error="no disk")
    assert "the inspection failed: no disk" in module("await_inventory", api_url=images.url, node="rack 1")["msg"]


def test_an_inspection_that_does_not_end_is_an_error(images: ImageServer, module: Any) -> None:
    serve(images, provision_state="inspecting")
    answer = module("await_inventory", api_url=images.url, node="rack 1", wait_timeout=0)
    assert "has not ended after 0 seconds" in answer["msg"]


def test_a_node_that_is_unknown_is_an_error(images: ImageServer, module: Any) -> None:
    answer = module("await_inventory", api_url=images.url, node="gone")
    assert "Failed to get the inventory of node gone: HTTP 404" in answer["msg"]

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import logging
from typing import Any

import pytest

from tests.unit.server.api_house import MAC, NODE, House

EVENT = {"event": "network.bind_port", "port_id": NODE, "mac_address": MAC, "status": "ACTIVE"}


def test_shards_are_counted_with_the_nodes_that_have_none(house: House) -> None:
    for shard in ("s1", "s1", "s2", None):
        house.node(shard=shard)
    found = house.call("GET", "/shards", version="1.82").json()["shards"]
    assert {each["name"]: each["count"] for each in found} == {"s1": 2, "s2": 1, "None": 1}
    assert house.call("GET", "/shards", version="1.81").status_code == 404
    assert house.call("GET", "/shards?limit=1").status_code == 400


@pytest.mark.parametrize(
    ("body", "version", "status"),
    [
        ({"events": [EVENT]}, "1.54", 204),
        ({"events": [EVENT]}, "1.53", 404),
        ({"events": [EVENT | {"binding:host_id": None, "device_id": None, "binding:vnic_type": "x"}]}, "1.115", 204),
        ({"events": []}, "1.115", 400),
        ({"events": EVENT}, "1.115", 400),
        ({}, "1.115", 400),
        ({"events": [EVENT], "colour": "red"}, "1.115", 400),
        ({"events": [EVENT | {"event": "network.paint_port"}]}, "1.115", 400),
        ({"events": [EVENT | {"port_id": "x"}]}, "1.115", 400),
        ({"events": [EVENT | {"mac_address": "x"}]}, "1.115", 400),
        ({"events": [EVENT | {"status": 5}]}, "1.115", 400),
        ({"events": [EVENT | {"binding:host_id": "x"}]}, "1.115", 400),
        ({"events": [EVENT | {"colour": "red"}]}, "1.115", 400),
        ({"events": [{name: EVENT[name] for name in ("event", "port_id", "status")}]}, "1.115", 400),
    ],
)
def test_an_event_is_logged_or_refused(
    house: House, caplog: pytest.LogCaptureFixture, body: Any, version: str, status: int
) -> None:
    caplog.set_level(logging.INFO, logger="rackwright.services.events")
    assert house.call("POST", "/events", body, version=version).status_code == status
    assert [record.__dict__["action"] for record in caplog.records] == ["network.bind_port"] * (status == 204)


def test_the_document_of_the_version_links_to_what_it_knows(house: House) -> None:
    for name, first in (("chassis", 1), ("portgroups", 23), ("volume", 32), ("events", 54), ("shards", 82)):
        assert name in house.call("GET", "", version=f"1.{first}").json()
        assert first == 1 or name not in house.call("GET", "", version=f"1.{first - 1}").json()

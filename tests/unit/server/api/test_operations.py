# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from tests.unit.server.api_house import House


@pytest.mark.parametrize("version", ["1.1", "1.82"])
def test_the_operations_of_a_node_are_told_by_uuid_and_by_name(house: House, version: str) -> None:
    uuid = house.node(name="web-1")
    house.call("PUT", f"/nodes/{uuid}/states/provision", {"target": "manage"})
    for ident in (uuid, "web-1"):
        path = f"/rackwright/v1/nodes/{ident}/operations"
        answer = house.client.get(path, headers={"X-OpenStack-Ironic-API-Version": version})
        assert answer.status_code == 200, answer.text
        (operation,) = answer.json()["operations"]
        assert (operation["phase"], operation["verb"], operation["status"]) == ("verify", "manage", "ready")
        assert operation["timeline"] == []


def test_the_operations_of_an_unknown_node_are_not_found(house: House) -> None:
    assert house.client.get("/rackwright/v1/nodes/nobody/operations").status_code == 404

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Some tests of the API again, on PostgreSQL and MariaDB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.server import databases
from tests.unit.server.api.test_nodes import fleet, names, test_removal_takes_everything_with_it
from tests.unit.server.api.test_service import test_a_silent_conductor_is_not_alive
from tests.unit.server.api.test_shards_and_events import test_shards_are_counted_with_the_nodes_that_have_none
from tests.unit.server.api_house import House

__all__ = (
    "fleet",
    "test_a_silent_conductor_is_not_alive",
    "test_removal_takes_everything_with_it",
    "test_shards_are_counted_with_the_nodes_that_have_none",
)


@pytest.fixture(params=["postgresql", "mariadb"])
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    built = House(tmp_path, database_url=databases.emptied(request.param))
    yield built
    built.parts.engine.dispose()


def test_filters_find_what_they_say_and_pages_follow_one_another(fleet: House) -> None:
    wanted = {
        "description_contains=50%25%20off": "a",
        "description_contains=5__": "",
        "shard=one,two": "ad",
        "sharded=false": "bc",
        "project=p1": "ab",
        "conductor_group=FAR": "d",
        "maintenance=false&driver=fake-hardware": "ad",
        "sort_key=resource_class": "bcda",
        "sort_key=name&sort_dir=desc": "dcba",
    }
    assert {query: "".join(names(fleet, query)) for query in wanted} == wanted
    for order, expected in (("sort_dir=asc", "bcda"), ("sort_dir=desc", "adcb")):
        found, url = "", f"/nodes?limit=1&sort_key=resource_class&fields=uuid,name&{order}"
        while url:
            page = fleet.call("GET", url).json()
            found += "".join(each["name"] for each in page["nodes"])
            url = page.get("next", "").partition("/v1")[2]
        assert found == expected


def test_what_is_taken_is_409_in_its_own_spelling_only(house: House) -> None:
    house.node(name="one")
    assert house.call("POST", "/nodes", {"driver": "fake-hardware", "name": "one"}).status_code == 409
    assert house.call("POST", "/nodes", {"driver": "fake-hardware", "name": "ONE"}).status_code == 201


def test_a_value_that_the_database_cannot_hold_is_400_and_changes_nothing(house: House) -> None:
    for value in ("\x00", "x" * 300):
        answer = house.call("POST", "/nodes", {"driver": "fake-hardware", "lessee": value, "extra": {"a": value}})
        assert answer.status_code in (201, 400), answer.text
    assert house.call("GET", "/nodes").status_code == 200

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Some tests of the API again, on PostgreSQL and MariaDB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.server import databases
from tests.unit.server.api.test_nodes import (
    fleet,
    test_a_filter_finds_what_it_says,
    test_following_next_gives_every_node_once,
    test_removal_takes_everything_with_it,
    test_what_must_be_unique_is_409_the_second_time,
)
from tests.unit.server.api.test_service import test_a_silent_conductor_is_not_alive
from tests.unit.server.api.test_shards_and_events import test_shards_are_counted_with_the_nodes_that_have_none
from tests.unit.server.api_house import House

__all__ = (
    "fleet",
    "test_a_filter_finds_what_it_says",
    "test_a_silent_conductor_is_not_alive",
    "test_following_next_gives_every_node_once",
    "test_removal_takes_everything_with_it",
    "test_shards_are_counted_with_the_nodes_that_have_none",
    "test_what_must_be_unique_is_409_the_second_time",
)


@pytest.fixture(params=["postgresql", "mariadb"])
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    built = House(tmp_path, database_url=databases.emptied(request.param))
    yield built
    built.parts.engine.dispose()


def test_a_value_that_the_database_cannot_hold_is_400_and_changes_nothing(house: House) -> None:
    answer = house.call("POST", "/nodes", {"driver": "fake-hardware", "name": "n1", "description": "\x00" * 5})
    assert answer.status_code in (201, 400), answer.text
    assert house.call("GET", "/nodes").status_code == 200

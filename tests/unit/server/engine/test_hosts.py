# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Which host carries out the runs of a node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from rackwright.engine.hosts import host_of, placed
from rackwright.engine.waves import form
from rackwright.settings import Settings
from rackwright.store.node import Node
from tests.unit.server.engine.engine_house import EngineHouse
from tests.unit.server.engine.test_waves import ready

HOSTS = {"rack7": "a b", "rack8": "c", "*": "d"}


def host(hosts: dict[str, str], group: str = "", **properties: Any) -> str:
    node = Node(driver="fake-hardware", conductor_group=group, properties=properties)
    return host_of(node, Settings(state_dir=Path("/nowhere"), execution_hosts=hosts))


@pytest.mark.parametrize(
    ("group", "named", "expected"),
    [("rack7", None, "rack7"), ("rack7", "rack8", "rack8"), ("rack9", None, "*"), ("", None, "*"), ("", "x", "x")],
)
def test_a_property_goes_before_the_group_and_the_group_before_the_others(
    group: str, named: str | None, expected: str
) -> None:
    assert host(HOSTS, group, **({"execution_host": named} if named else {})) == expected


def test_runs_stay_here_where_nothing_else_is_said() -> None:
    assert host({}, "rack7") == ""
    assert host({"rack8": "c"}, "rack7") == ""


def test_a_node_that_names_a_host_goes_nowhere_else_where_there_are_none(house: EngineHouse) -> None:
    members = []
    for properties in ({"execution_host": "rack7"}, {"execution_host": None}, {"rack": "7"}):
        uuid = house.node(provision_state="available", properties=properties)
        members.append(ready(1, operation=house.verb(uuid, "active").uuid))
    assert [one.host for one in placed(members, house.world)] == ["rack7", "", ""]


def test_nodes_of_different_hosts_share_no_run() -> None:
    waves = form([ready(1, host="rack7"), ready(2), ready(3, host="rack7")], size=200)
    assert [(wave.host, len(wave.members)) for wave in waves] == [("rack7", 2), ("", 1)]


@pytest.mark.parametrize("place", ["", "-oProxyCommand=x", "a -oProxyCommand=x"])
def test_a_destination_that_ssh_could_take_for_an_option_is_refused(place: str) -> None:
    with pytest.raises(ValidationError):
        Settings(execution_hosts={"rack7": place})

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A conductor looks at the power of simulated machines, with Ansible, and tells a small Nova what it finds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rackwright.engine import membership
from rackwright.nova import open_nova
from rackwright.settings import Settings
from rackwright.store.columns import new_uuid
from tests.benchmark.day import SYNC, Conductors, Player
from tests.integration.server.simulated_house import Rack, running
from tests.unit.server.engine.engine_house import EngineHouse
from tests.unit.server.nova_house import Cloud, cloud

__all__ = ["cloud"]

ON, OFF = "power on", "power off"


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rack]:
    with running(tmp_path_factory.mktemp("rack"), 4) as there:
        yield there


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Conductors]:
    monkeypatch.setattr(membership, "_uptime", membership._uptime)  # it is turned together with the clock
    there = Conductors(tmp_path, "", Player(), real=True)
    there.real(True)
    yield there
    there.close()


def _node(house: EngineHouse, rack: Rack, number: int, **more: Any) -> str:
    machine = rack.machines[number]
    info = {"redfish_address": machine["redfish"], "redfish_system_id": machine["system"]}
    account = {f"redfish_{name}": rack.facts[name] for name in ("username", "password")}
    given = {"provision_state": "active", "power_state": OFF, **more}
    return house.node(**{**given, "driver_info": {**info, **account, **given.pop("info", {})}})


def test_a_round_asks_each_bmc_once_leaves_no_session_and_nova_learns_what_has_changed(
    site: Conductors, rack: Rack, cloud: Cloud
) -> None:
    house = site.first
    same = [_node(house, rack, number) for number in range(2)]
    changed = _node(house, rack, 2, power_state=ON, instance_uuid=new_uuid(), disable_power_off=True)
    asked = rack.load()["requests"]
    nova = open_nova(Settings(**cloud.settings))
    assert nova is not None
    object.__setattr__(house.world, "nova", nova)
    site.turn(SYNC)
    told = [(event["server_uuid"], event["tag"]) for event in cloud.wait(1)]
    assert told == [(house.look(changed).instance_uuid, "POWER_OFF")]
    nova.close()
    assert [house.look(uuid).power_state for uuid in (*same, changed)] == [OFF, OFF, OFF]
    assert rack.load()["requests"] - asked == 3
    assert rack.sessions() == 0


def test_a_way_that_has_to_be_found_out_is_known_in_the_next_round(site: Conductors, rack: Rack) -> None:
    uuid = _node(site.first, rack, 3, info={"redfish_system_id": rack.machines[3]["system"].rpartition("/")[2]})
    counts = []
    for _ in range(2):
        asked = rack.load()["requests"]
        site.turn(SYNC)
        counts.append(rack.load()["requests"] - asked)
    assert counts[0] > 1
    assert counts[1] == 1
    assert site.first.look(uuid).power_state == OFF
    assert rack.sessions() == 0

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Nova is told of each change of the power of its instances, at a small cloud, whoever has asked for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rackwright.domain.outcomes import Failed, Learned
from rackwright.domain.steps import StepRequest
from rackwright.domain.verbs import Interface
from rackwright.engine import plan
from rackwright.engine.power_news import telling
from rackwright.engine.power_sync import FAULT
from rackwright.nova import Nova, open_nova
from rackwright.settings import Settings
from rackwright.store.columns import new_uuid
from tests.unit.server.engine.engine_house import EngineHouse
from tests.unit.server.engine.test_many_conductors import Fleet, fleet, uptime
from tests.unit.server.engine.test_power_sync import sync
from tests.unit.server.nova_house import Cloud, cloud

__all__ = ["cloud", "fleet", "uptime"]

ON, OFF = "power on", "power off"


@pytest.fixture
def house(tmp_path: Path, cloud: Cloud) -> Iterator[EngineHouse]:
    """Give a house whose Nova is told."""
    found = EngineHouse(tmp_path, force_power_state_during_sync=False, **cloud.settings)
    hear(found, cloud)
    yield found
    assert found.world.nova is not None
    found.world.nova.close()
    found.close()


def hear(house: EngineHouse, cloud: Cloud | Nova) -> None:
    """Let the Nova of a cloud, or another one, be told from now on."""
    nova = cloud if isinstance(cloud, Nova) else open_nova(Settings(**cloud.settings))
    object.__setattr__(house.world, "nova", nova)


def instance(house: EngineHouse, **columns: Any) -> str:
    """Return the node of a new instance that is on, as is recorded."""
    return house.node(**{"provision_state": "active", "power_state": ON, "instance_uuid": new_uuid(), **columns})


def power(house: EngineHouse, uuid: str, target: str, *, becomes: str | None = None) -> str | None:
    """Let a client ask for a power action, and the machine become so; return the instance."""
    house.script[f"{uuid} power.set_power_state"] = Learned({"power_state": becomes}) if becomes else Failed("", "mute")
    house.within(uuid, plan.start_power, settings=house.settings, catalog=house.world.catalog, target=target)
    house.settle()
    return house.look(uuid).instance_uuid


def event(server: str | None, state: str) -> dict[str, str | None]:
    return {"name": "power-update", "server_uuid": server, "tag": {ON: "POWER_ON", OFF: "POWER_OFF"}[state]}


@pytest.mark.parametrize(
    ("target", "before", "after"),
    [
        ("power on", OFF, ON),
        ("power off", ON, OFF),
        ("soft power off", ON, OFF),
        ("rebooting", ON, ON),
        ("rebooting", OFF, ON),
        ("soft rebooting", ON, ON),
    ],
)
def test_nova_is_told_once_of_a_power_action_that_has_ended(
    house: EngineHouse, cloud: Cloud, target: str, before: str, after: str
) -> None:
    first, last = instance(house, power_state=before), instance(house)
    changed = power(house, first, target, becomes=after)
    assert cloud.wait(1) == [event(changed, after)]
    after_it = power(house, last, "power off", becomes=OFF)
    assert cloud.wait(2) == [event(changed, after), event(after_it, OFF)]


def test_nova_is_not_told_of_a_power_action_that_failed_or_of_a_node_without_instance(
    house: EngineHouse, cloud: Cloud
) -> None:
    power(house, instance(house), "power off")
    power(house, instance(house, instance_uuid=None), "power off", becomes=OFF)
    told = power(house, instance(house), "power off", becomes=OFF)
    assert cloud.wait(1) == [event(told, OFF)]


def test_a_power_change_in_the_midst_of_another_operation_is_told_as_well(house: EngineHouse, cloud: Cloud) -> None:
    uuid = instance(house)
    house.script["bios.apply_configuration"] = Learned({"power_state": OFF})
    house.verb(uuid, "service", StepRequest(interface=Interface.BIOS, step="apply_configuration"))
    house.settle()
    assert cloud.wait(1) == [event(house.look(uuid).instance_uuid, OFF)]


def test_what_nova_is_told_is_stored_before(house: EngineHouse) -> None:
    uuid, seen = instance(house), list[tuple[str | None, str | None]]()

    def post(*_: Any, **__: Any) -> Any:
        node = house.look(uuid)
        seen.append((node.power_state, node.target_power_state))
        raise ConnectionError

    hear(house, nova := Nova(post, pause=0.01))
    power(house, uuid, "power off", becomes=OFF)
    while not seen:
        house.settle()
    nova.close()
    assert set(seen) == {(OFF, None)}


def test_a_transaction_that_fails_tells_nothing(house: EngineHouse) -> None:
    node = house.look(instance(house))
    nova = Nova(lambda *_, **__: pytest.fail("told"))
    with pytest.raises(OSError, match="gone"), telling(nova) as news:
        news.note(node)
        raise OSError("gone")
    assert not nova._waiting


def test_a_nova_that_fails_hurts_no_power_action(house: EngineHouse, cloud: Cloud) -> None:
    cloud.broken = [500] * 10
    uuid = instance(house)
    power(house, uuid, "power off", becomes=OFF)
    node = house.look(uuid)
    assert (node.power_state, node.target_power_state, node.last_error) == (OFF, None, None)


def test_what_a_conductor_could_not_tell_before_its_death_is_told_by_the_next(house: EngineHouse, cloud: Cloud) -> None:
    instance(house)  # whose node has not changed
    hear(house, dead := Nova(lambda *_, **__: pytest.fail("told")))
    dead.close()
    changed = power(house, instance(house), "power off", becomes=OFF)
    hear(house, cloud)
    house.reopen()
    assert cloud.wait(1) == [event(changed, OFF)]
    house.clock.turn(3601)
    house.reopen()
    last = power(house, instance(house), "power off", becomes=OFF)
    assert cloud.wait(2)[1:] == [event(last, OFF)]


def test_what_a_conductor_could_not_tell_is_told_by_those_that_notice_its_death(fleet: Fleet, cloud: Cloud) -> None:
    uuid = fleet.node_of(fleet.a)
    fleet.a.change(uuid, instance_uuid=new_uuid(), power_state=OFF)
    hear(fleet.b, cloud)
    fleet.beat(fleet.a)
    fleet.b.conductor._heartbeat()
    assert cloud.wait(1) == [event(fleet.b.look(uuid).instance_uuid, OFF)]


def test_nova_is_told_of_an_instance_that_is_found_in_another_power_state(house: EngineHouse, cloud: Cloud) -> None:
    changed = instance(house)
    house.node(provision_state="active", power_state=ON)  # without an instance
    instance(house, power_state=OFF)
    house.script["power.read_power_state"] = Learned({"power_state": OFF})
    sync(house, 2)
    assert cloud.wait(1) == [event(house.look(changed).instance_uuid, OFF)]


def test_nova_is_told_when_a_bmc_that_was_silent_answers_again(house: EngineHouse, cloud: Cloud) -> None:
    uuid = instance(house, power_state=None, maintenance=True, fault=FAULT)
    house.script["power.read_power_state"] = Learned({"power_state": ON})
    sync(house, seconds=301)
    assert [told["tag"] for told in cloud.wait(1)] == ["POWER_ON"]
    assert house.look(uuid).maintenance is False


def test_a_nova_that_fails_does_not_hurt_the_sync(house: EngineHouse, cloud: Cloud) -> None:
    cloud.broken = [500] * 10
    uuid = instance(house)
    house.script["power.read_power_state"] = Learned({"power_state": OFF})
    sync(house)
    assert house.look(uuid).power_state == OFF

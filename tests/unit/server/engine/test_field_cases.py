# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What operators of other provisioners ran into with their conductors; each case has its name on our list of them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from rackwright.domain.outcomes import Failed, Learned, WaitFor, Waiting
from rackwright.domain.steps import Stage, StepRequest
from rackwright.domain.verbs import Interface, Phase
from rackwright.engine import conductor
from rackwright.engine.rests import LONGEST
from rackwright.engine.waves import LAST_ATTEMPT
from rackwright.runner.base import Listener, PlaybookRun, Runner, RunResult, RunStatus
from tests.unit.server.engine.engine_house import STEPS, EngineHouse, step

OFF, ON = "power off", "power on"
PLAN = ("bios.factory_reset", "raid.create_configuration", "deploy.erase_devices", "firmware.update")
MACHINES = 20


@pytest.fixture
def plant(tmp_path: Path) -> Iterator[EngineHouse]:
    """Return an engine that knows all steps of the plan."""
    more = (
        step(Phase.CLEAN, Interface.DEPLOY, "erase_devices", needs_ramdisk=True),
        step(Phase.CLEAN, Interface.FIRMWARE, "update"),
    )
    built = EngineHouse(tmp_path, steps=(*STEPS, *more), wave_size=MACHINES)
    yield built
    built.close()


def clean(house: EngineHouse, uuid: str, names: tuple[str, ...]) -> None:
    asked = [name.split(".") for name in names]
    house.verb(uuid, "clean", *(StepRequest(interface=Interface(kind), step=name) for kind, name in asked))


class Asynchronous:
    """A step that waits once for a heartbeat; now and then one comes before anybody waits for it."""

    def __init__(self, house: EngineHouse, chance: random.Random) -> None:
        self.house, self.chance = house, chance
        self.begun: set[tuple[str, str]] = set()
        self.done: dict[str, list[str]] = {}

    def play(self, name: str, uuid: str) -> Waiting | None:
        if self.chance.random() < 0.3:
            self.house.beat(uuid)
        if (uuid, name) not in self.begun:
            self.begun.add((uuid, name))
            return Waiting(WaitFor.AGENT)
        self.done.setdefault(uuid, []).append(name)
        return None


def test_step_after_bios_skipped(plant: EngineHouse) -> None:
    chance = random.Random(1)
    steps = Asynchronous(plant, chance)
    plant.script |= {name: partial(steps.play, name) for name in PLAN}
    uuids = [plant.node(provision_state="manageable") for _ in range(MACHINES)]
    for uuid in uuids:
        clean(plant, uuid, PLAN)
    while {plant.look(uuid).provision_state for uuid in uuids} != {"manageable"}:
        plant.settle()
        for uuid in chance.sample(uuids, len(uuids)) * 2:
            plant.beat(uuid)
    assert steps.done == {uuid: list(PLAN) for uuid in uuids}, "each step ended once, in order"
    for uuid in uuids:
        told = [entry["step"] for entry in plant.operation(uuid).timeline if entry["step"] in PLAN]
        assert list(dict.fromkeys(told)) == list(PLAN)


def test_power_poll_fights_firmware(plant: EngineHouse) -> None:
    """The BMC is away for a minute, then the power is, and the poll looks every few seconds."""
    uuid = plant.node(provision_state="manageable", power_state=ON)
    looks = Counter[str]()

    def update(_: str) -> Waiting | None:
        looks["update"] += 1
        return Waiting(WaitFor.POLL, 30) if looks["update"] < 8 else None

    plant.script["firmware.update"] = update
    clean(plant, uuid, ("firmware.update",))
    for seen in (*[Failed("", "no route to host")] * 3, *[Learned({"power_state": OFF})] * 3):
        plant.script["power.read_power_state"] = seen
        plant.clock.turn(121)
        plant.settle()
        node = plant.look(uuid)
        assert (node.maintenance, node.power_state) == (False, ON)
    plant.script["power.read_power_state"] = Learned({"power_state": ON})
    for _ in range(3):
        plant.clock.turn(121)
        plant.settle()
    node = plant.look(uuid)
    assert (node.provision_state, node.last_error, node.maintenance) == ("manageable", None, False)
    assert "power.set_power_state" not in plant.steps_of(uuid)
    assert plant.steps_of(uuid).count("power.read_power_state") >= 1, "it is watched again afterwards"


def test_boot_override_accepted_but_ignored(plant: EngineHouse) -> None:
    uuid = plant.node(provision_state="manageable")
    plant.script["boot.boot_ramdisk"] = Waiting(WaitFor.AGENT)
    clean(plant, uuid, ("deploy.erase_devices",))
    plant.settle()
    plant.clock.turn(1900)
    plant.settle()
    assert plant.look(uuid).provision_state == "clean wait"
    assert plant.steps_of(uuid) == ["boot.boot_ramdisk"] * 2, "it is booted again"
    plant.clock.turn(1900)
    plant.settle()
    node = plant.look(uuid)
    assert (node.provision_state, node.reservation) == ("clean failed", None)
    for part in ("boot.boot_ramdisk", "clean_callback_timeout", "seems to boot something else", "boot override"):
        assert part in (node.last_error or "")
    assert plant.steps_of(uuid)[-1] == "boot.clean_up_ramdisk", "which switches it off"


def test_a_machine_that_boots_something_else_for_its_inspection_is_booted_again(tmp_path: Path) -> None:
    boot = step(Phase.INSPECT, Interface.BOOT, "boot_ramdisk", 50, stage=Stage.PREPARE)
    plant = EngineHouse(tmp_path, steps=(boot, *STEPS), sync_power_state_interval=0)
    uuid = plant.node(provision_state="manageable")
    plant.script["inspect.await_inventory"] = Waiting(WaitFor.INSPECTION)
    plant.verb(uuid, "inspect")
    for _ in range(2):
        plant.settle()
        assert plant.look(uuid).provision_state == "inspect wait"
        plant.clock.turn(1900)
    plant.settle()
    assert plant.steps_of(uuid) == ["boot.boot_ramdisk", "inspect.await_inventory"] * 2 + ["boot.clean_up_ramdisk"]
    node = plant.look(uuid)
    assert node.provision_state == "inspect failed"
    for part in ("inspect.await_inventory", "inspect_wait_timeout", "seems to boot something else"):
        assert part in (node.last_error or "")
    plant.close()


def test_a_machine_whose_agent_has_called_is_not_booted_again(plant: EngineHouse) -> None:
    uuid = plant.node(provision_state="manageable")
    plant.script["boot.boot_ramdisk"] = Waiting(WaitFor.AGENT)
    clean(plant, uuid, ("deploy.erase_devices",))
    plant.settle()
    plant.beat(uuid)
    plant.settle()
    plant.clock.turn(1900)
    plant.settle()
    assert plant.look(uuid).provision_state == "clean failed"
    assert "something else" not in (plant.look(uuid).last_error or "")


class Hindered:
    """A runner whose host lets it down some times."""

    def __init__(self, runner: Runner, times: int) -> None:
        self._runner, self.left = runner, times

    def run(self, run: PlaybookRun, listener: Listener) -> RunResult:
        if self.left:
            self.left -= 1
            return RunResult(RunStatus.HINDERED, cause="the disk is full; free space on it")
        return self._runner.run(run, listener)


def test_a_run_that_was_hindered_counts_for_no_node(plant: EngineHouse, caplog: pytest.LogCaptureFixture) -> None:
    uuid = plant.node(provision_state="manageable")
    plant.conductor.drop()
    plant.conductor = conductor.Conductor(plant.world, Hindered(plant.runner, 2 * LAST_ATTEMPT))
    plant.conductor.start()
    clean(plant, uuid, ("firmware.update",))
    for _ in range(2 * LAST_ATTEMPT + 1):
        plant.settle()
        plant.clock.turn(LONGEST)
    assert (plant.look(uuid).provision_state, plant.look(uuid).last_error) == ("manageable", None)
    assert plant.steps_of(uuid) == ["firmware.update"]
    assert caplog.text.count("hindered and is tried again: the disk is full; free space on it") == 2 * LAST_ATTEMPT

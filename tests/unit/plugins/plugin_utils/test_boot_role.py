# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.rackwright.metal.tests.unit.plugins.agent_server import AgentServer
from ansible_collections.rackwright.metal.tests.unit.plugins.bmc_server import (
    DRIVE,
    ISO,
    SYSTEM,
    Answer,
    BmcServer,
    Request,
)
from ansible_collections.rackwright.metal.tests.unit.plugins.wave_stage import Stage

Data = dict[str, Any]
BOOT = {"name": "boot_ramdisk", "interface": "boot", "role": "rackwright.metal.boot"}
CLEAN_UP = {"name": "clean_up_ramdisk", "interface": "boot", "role": "rackwright.metal.boot"}
CLEAN_INSTANCE = {"name": "clean_up_instance", "interface": "boot", "role": "rackwright.metal.boot"}
STEPS: list[Data] = [BOOT, CLEAN_UP, CLEAN_INSTANCE]


@pytest.fixture
def second() -> Iterator[BmcServer]:
    with BmcServer().running() as server:
        yield server


@pytest.fixture
def enrol(stage: Stage, tmp_path: Path) -> Any:
    """Put a machine into the wave, with all that it needs to boot the agent."""
    for part in ("kernel", "ramdisk", "bootloader"):
        (tmp_path / part).write_text(part * 100)

    def put(uuid: str, bmc: BmcServer, **more: Any) -> None:
        boot = {
            "mode": "uefi",
            **{part: f"file://{tmp_path}/{part}" for part in ("kernel", "ramdisk", "bootloader")},
            "iso": None,
            "parameters": {"ipa-agent-token": f"canary-{uuid}"},
            "append": None,
            "file": str(tmp_path / f"{uuid}.iso"),
            "url": f"http://files.example.com/boot/{uuid}.iso",
            "cache": str(tmp_path / "cache"),
        }
        agent = {"url": None, "token": f"canary-{uuid}", "ca": None, "seen_at": None}
        deploy = {"allowed_paths": [str(tmp_path)]}
        given = {"bmc": bmc.context(), "boot": boot, "agent": agent, "deploy": deploy, "phase": "clean", **more}
        stage.node(uuid, steps=STEPS, **given)

    return put


def test_each_machine_of_a_wave_boots_its_own_image(
    stage: Stage, bmc: BmcServer, second: BmcServer, enrol: Any, tmp_path: Path
) -> None:
    bmc.resources[SYSTEM]["PowerState"] = "On"
    enrol("one", bmc)
    enrol("two", second)
    run = stage.play([BOOT])
    assert run.code == 0, run.output
    for uuid, server in (("one", bmc), ("two", second)):
        assert run.of(uuid)[-1] == ("waiting", 0)
        assert server.resources[DRIVE]["Image"] == f"http://files.example.com/boot/{uuid}.iso"
        assert server.resources[SYSTEM]["PowerState"] == "On"
        assert server.resources[SYSTEM]["Boot"]["BootSourceOverrideTarget"] == "Cd"
        assert f"canary-{uuid}".encode() in (tmp_path / f"{uuid}.iso").read_bytes()
    reset, insert = f"POST {SYSTEM}/Actions/ComputerSystem.Reset", f"POST {DRIVE}/Actions/VirtualMedia.InsertMedia"
    assert bmc.calls() == [reset, insert, f"PATCH {SYSTEM}", reset]
    assert second.calls() == [insert, f"PATCH {SYSTEM}", reset]
    assert "canary" not in run.output


def test_a_machine_that_is_booting_already_is_left_alone(stage: Stage, bmc: BmcServer, enrol: Any) -> None:
    enrol("one", bmc)
    stage.play([BOOT])
    asked = len(bmc.calls())
    run = stage.play([BOOT])
    assert run.of("one") == [("start", 0), ("facts", 0), ("waiting", 0)]
    assert run.facts("one") == {"power_state": "power on"}, "the run that turned it on may have died before saying so"
    assert len(bmc.calls()) == asked


def test_a_machine_that_booted_something_else_is_booted_again_and_once_each_time(
    stage: Stage, bmc: BmcServer, enrol: Any
) -> None:
    enrol("one", bmc)
    stage.play([BOOT])
    resets = bmc.calls().count(f"POST {SYSTEM}/Actions/ComputerSystem.Reset")
    for persistent, enabled in ((True, "Continuous"), (False, "Once"), (True, "Continuous")):
        enrol("one", bmc, override={"persistent": persistent})
        for _attempt in range(2):  # the second one is that of a run whose conductor has died
            assert stage.play([BOOT]).of("one")[-1] == ("waiting", 0)
            boot = bmc.resources[SYSTEM]["Boot"]
            assert (boot["BootSourceOverrideTarget"], boot["BootSourceOverrideEnabled"]) == ("Cd", enabled)
        resets += 2  # off and on
        assert bmc.calls().count(f"POST {SYSTEM}/Actions/ComputerSystem.Reset") == resets


def test_an_inspected_machine_that_is_booting_already_is_said_to_be_on(
    stage: Stage, bmc: BmcServer, enrol: Any
) -> None:
    enrol("one", bmc)
    stage.play([BOOT])
    enrol("one", bmc, phase="inspect")
    run = stage.play([BOOT])
    assert run.of("one") == [("start", 0), ("facts", 0), ("settled", 0)]
    assert run.facts("one") == {"power_state": "power on"}


def test_a_step_whose_agent_answers_is_settled(stage: Stage, bmc: BmcServer, enrol: Any, agent: AgentServer) -> None:
    enrol("one", bmc, agent=agent.context())
    enrol("two", bmc)
    run = stage.play([BOOT])
    assert run.of("one") == [("start", 0), ("facts", 0), ("settled", 0)]
    assert run.facts("one") == {"power_state": "power on"}
    assert run.of("two")[-1] == ("waiting", 0)


def test_an_image_is_ejected_only_when_the_machine_is_off(
    stage: Stage, bmc: BmcServer, enrol: Any, tmp_path: Path
) -> None:
    bmc.power_delay = 1.5
    bmc.resources[SYSTEM]["PowerState"] = "On"
    bmc.resources[DRIVE].update(Image=ISO, Inserted=True)
    (tmp_path / "one.iso").write_text("image")
    states: list[str] = []

    def habit(request: Request) -> Answer | None:
        if request.path.endswith("EjectMedia"):
            states.append(bmc.resources[SYSTEM]["PowerState"])
        return None

    bmc.habits.append(habit)
    enrol("one", bmc)
    run = stage.play([CLEAN_UP])
    assert run.code == 0, run.output
    assert set(states) == {"Off"}
    assert bmc.resources[DRIVE]["Inserted"] is False
    assert not (tmp_path / "one.iso").exists()


def test_what_is_inserted_is_ejected_from_an_instance(stage: Stage, bmc: BmcServer, enrol: Any) -> None:
    bmc.resources[DRIVE].update(Image=ISO, Inserted=True)
    enrol("one", bmc)
    assert stage.play([CLEAN_INSTANCE]).code == 0
    assert bmc.resources[DRIVE]["Inserted"] is False


def test_a_machine_without_a_boot_image_fails_alone(
    stage: Stage, bmc: BmcServer, second: BmcServer, enrol: Any
) -> None:
    enrol("one", bmc)
    enrol("two", second)
    stage.door.contexts["two"]["boot"]["kernel"] = "file:///etc/hostname"
    run = stage.play([BOOT])
    assert run.of("one")[-1] == ("waiting", 0)
    failed = next(line for line in run.lines if line["event"] == "failed")
    assert failed["node"] == "two"
    assert "It does not lie in a folder from which files may be taken." in failed["cause"]
    assert second.calls() == []


def test_a_slow_bmc_holds_up_no_other(stage: Stage, bmc: BmcServer, second: BmcServer, enrol: Any) -> None:
    asleep = threading.Event()
    second.habits.append(lambda _: Answer(200) if asleep.wait(60) else None)
    enrol("one", bmc)
    enrol("two", second)
    try:
        run = stage.play([BOOT])
    finally:
        asleep.set()
    assert run.of("one")[-1] == ("waiting", 0)
    assert run.of("two") == [("start", 0), ("behind", 0)]


def test_a_step_takes_one_login_and_reads_nothing_twice(stage: Stage, bmc: BmcServer, enrol: Any) -> None:
    bmc.login = ("admin", "canary-password")
    enrol("one", bmc)
    for step, paths in ((BOOT, 6), (CLEAN_UP, 6)):
        bmc.log.clear()
        assert stage.play([step]).code == 0
        asked = [f"{request.method} {request.path}" for request in bmc.log]
        assert sum(one.endswith("/Sessions") for one in asked) == 1
        looks = [one for one in asked if one.startswith("GET")]
        assert len(set(looks)) <= paths
        changes = [one for one in asked if not one.startswith("GET") and "Sessions" not in one]
        assert len(looks) <= len(set(looks)) + len(changes) + 1, "again only after a change, and for an ETag"

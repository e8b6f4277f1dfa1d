# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from rackwright.domain.errors import NodeLocked
from rackwright.domain.outcomes import Behind, Failed, WaitFor, Waiting
from rackwright.domain.steps import Stage, StepRequest
from rackwright.domain.verbs import Interface, Phase
from rackwright.engine import admission, operations, plan
from rackwright.store import node as nodes
from rackwright.store.session import writing
from tests.unit.server.engine.engine_house import EngineHouse, step

FOR_AGENT = Waiting(WaitFor.AGENT)


def _once(first: object) -> object:
    """Return a play that gives ``first`` to each node once, and is done after that."""
    seen: set[str] = set()

    def play(node: str) -> object:
        if node in seen:
            return None
        seen.add(node)
        return first

    return play


def test_a_report_that_came_while_the_run_had_the_node_is_not_waited_for(house: EngineHouse) -> None:
    uuid = house.node(provision_state="manageable")
    came: list[str] = []

    def play(_node: str) -> Waiting | None:
        if came:
            return None
        came.append("report")
        with writing(house.world.database) as session:
            node = nodes.get(uuid, session=session)
            operations.wake(session, node, WaitFor.INSPECTION, facts={operations.RECEIVED: True})
            session.commit()
        return Waiting(WaitFor.INSPECTION)

    house.script["inspect.await_inventory"] = play
    house.verb(uuid, "inspect")
    house.settle()
    assert (house.look(uuid).provision_state, house.look(uuid).last_error) == ("manageable", None)


def test_a_waiting_node_holds_nothing_and_goes_on_with_a_heartbeat(house: EngineHouse) -> None:
    uuid = house.node(provision_state="manageable")
    house.script["boot.boot_ramdisk"] = _once(FOR_AGENT)
    house.verb(uuid, "provide")
    house.settle()
    node, waiting = house.look(uuid), house.operation(uuid)
    assert (node.provision_state, node.reservation, node.target_provision_state) == ("clean wait", None, "available")
    assert (waiting.status, waiting.waits_for, waiting.run_id) == ("waiting", "agent", None)
    house.beat(uuid)
    house.settle()
    assert house.look(uuid).provision_state == "available"
    assert house.steps_of(uuid)[:2] == ["boot.boot_ramdisk"] * 2, "the step runs again from its start"


@pytest.mark.parametrize("start", [plan.start_power, plan.start_query])
def test_what_waits_is_not_ended_by_power_or_questions(house: EngineHouse, start: Callable[..., object]) -> None:
    uuid = house.node(provision_state="available")
    house.script["deploy.write_image"] = _once(FOR_AGENT)
    house.verb(uuid, "active")
    house.settle()
    assert house.look(uuid).provision_state == "wait call-back"
    wish = {"target": "rebooting"} if start is plan.start_power else {"step": "get_boot_device"}
    with pytest.raises(NodeLocked, match="try again when its present operation has ended"):
        house.within(uuid, start, settings=house.settings, catalog=house.world.catalog, **wish)
    assert (house.operation(uuid).status, house.look(uuid).reservation) == ("waiting", None)
    house.beat(uuid)
    house.settle()
    assert house.look(uuid).provision_state == "active"


def test_a_heartbeat_during_the_run_makes_the_node_ready_at_once(house: EngineHouse) -> None:
    uuid = house.node(provision_state="manageable")

    def agent_is_faster(node: str) -> object:
        if len(house.steps_of(node)) == 1:
            house.beat(node)
            return FOR_AGENT
        return None

    house.script["boot.boot_ramdisk"] = agent_is_faster
    house.verb(uuid, "provide")
    house.settle()
    assert house.look(uuid).provision_state == "available"


def test_a_heartbeat_of_an_earlier_boot_does_not_wake_the_node(house: EngineHouse) -> None:
    uuid = house.node(provision_state="manageable")
    house.beat(uuid)
    house.clock.turn(60)
    house.script["boot.boot_ramdisk"] = FOR_AGENT
    house.verb(uuid, "provide")
    house.settle()
    assert house.look(uuid).provision_state == "clean wait"
    assert "agent_url" not in house.look(uuid).driver_internal_info


def test_a_new_boot_gets_a_new_token_that_is_sealed(house: EngineHouse) -> None:
    uuid = house.node(provision_state="manageable")
    house.script["boot.boot_ramdisk"] = Failed("", "no medium")
    tokens = set()
    for _ in range(2):
        house.change(uuid, provision_state="manageable")
        house.verb(uuid, "provide")
        info = house.look(uuid).driver_internal_info
        assert "$sealed" in info["agent_secret_token"]
        assert info["agent_secret_token_pregenerated"] is True
        tokens.add(house.world.sealer.unseal(info)["agent_secret_token"])
        house.settle()
    assert len(tokens) == 2
    assert "agent_secret_token" not in house.look(uuid).driver_internal_info


def test_what_was_waited_for_may_bring_facts(house: EngineHouse) -> None:
    uuid = house.node(provision_state="manageable")
    house.script["inspect.await_inventory"] = _once(Waiting(WaitFor.INSPECTION))
    house.verb(uuid, "inspect")
    house.settle()
    assert house.look(uuid).provision_state == "inspect wait"
    house.within(uuid, lambda session, node: operations.wake(session, node, WaitFor.AGENT))
    house.settle()
    assert house.look(uuid).provision_state == "inspect wait", "an agent's heartbeat is no inspection report"
    house.within(uuid, lambda session, node: operations.wake(session, node, WaitFor.INSPECTION, facts={"disks": 2}))
    house.settle()
    assert house.look(uuid).provision_state == "manageable"
    assert house.operation(uuid).facts == {"disks": 2}
    assert house.look(uuid).inspection_finished_at is not None


@pytest.mark.parametrize(
    ("state", "verb", "name", "option", "failed"),
    [
        ("manageable", "provide", "deploy.agent_steps", "clean_callback_timeout", "clean failed"),
        ("available", "active", "deploy.write_image", "deploy_callback_timeout", "deploy failed"),
        ("manageable", "inspect", "inspect.await_inventory", "inspect_wait_timeout", "inspect failed"),
        ("active", "rescue", "rescue.rescue", "rescue_callback_timeout", "rescue failed"),
    ],
)
def test_every_wait_has_an_end_that_names_phase_limit_and_what_to_check(
    house: EngineHouse, state: str, verb: str, name: str, option: str, failed: str
) -> None:
    uuid = house.node(provision_state=state)
    house.script[name] = Waiting(WaitFor.INSPECTION if verb == "inspect" else WaitFor.AGENT)
    house.verb(uuid, verb)
    house.settle()
    house.clock.turn(1700)
    house.settle()
    assert house.operation(uuid).status == "waiting"
    house.clock.turn(200)
    house.settle()
    node = house.look(uuid)
    assert node.provision_state == failed
    for part in (name, option, "1800 seconds", "Check"):
        assert part in (node.last_error or ""), part


def test_service_that_waits_too_long_fails_with_its_own_limit(house: EngineHouse) -> None:
    uuid = house.node(provision_state="active")
    house.script["bios.apply_configuration"] = FOR_AGENT
    house.verb(uuid, "service", StepRequest(interface=Interface.BIOS, step="apply_configuration"))
    house.settle()
    assert house.look(uuid).provision_state == "service wait"
    house.clock.turn(1900)
    house.settle()
    assert house.look(uuid).provision_state == "service failed"
    assert "service_callback_timeout" in (house.look(uuid).last_error or "")


def test_a_node_in_maintenance_is_not_timed_out_before_maintenance_ends(house: EngineHouse) -> None:
    uuid = house.node(provision_state="manageable")
    house.script["deploy.agent_steps"] = FOR_AGENT
    house.verb(uuid, "provide")
    house.settle()
    house.change(uuid, maintenance=True)
    house.clock.turn(1900)
    house.settle()
    assert house.look(uuid).provision_state == "clean wait"
    house.change(uuid, maintenance=False)
    house.clock.turn(61)
    house.settle()
    assert house.look(uuid).provision_state == "clean failed"


def test_a_timeout_of_zero_waits_for_ever(tmp_path: Path) -> None:
    house = EngineHouse(tmp_path, clean_callback_timeout=0)
    uuid = house.node(provision_state="manageable")
    house.script["boot.boot_ramdisk"] = FOR_AGENT
    house.verb(uuid, "provide")
    house.settle()
    house.clock.turn(10**6)
    house.settle()
    assert house.look(uuid).provision_state == "clean wait"
    house.close()


def test_every_heartbeat_of_a_busy_agent_begins_the_limit_anew(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available")
    house.script["deploy.write_image"] = FOR_AGENT
    house.verb(uuid, "active")
    house.settle()
    for _ in range(4):
        house.clock.turn(1000)
        house.beat(uuid)
        house.settle()
    assert house.look(uuid).provision_state == "wait call-back"


def test_a_poll_looks_again_when_its_time_has_come_but_not_for_ever(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available")
    house.script["deploy.write_image"] = Waiting(WaitFor.POLL, 600)
    house.verb(uuid, "active")
    house.settle()
    assert house.steps_of(uuid).count("deploy.write_image") == 1
    for seconds, looks in ((500, 1), (101, 2), (601, 3)):
        house.clock.turn(seconds)
        house.settle()
        assert house.steps_of(uuid).count("deploy.write_image") == looks
    house.clock.turn(601)
    house.settle()
    assert house.look(uuid).provision_state == "deploy failed"


def test_a_failure_list_may_wait_and_the_state_stays_until_its_end(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available")
    house.script["deploy.write_image"] = Failed("", "no image")
    house.script["boot.clean_up_ramdisk"] = _once(Waiting(WaitFor.POLL, 5))
    house.verb(uuid, "active")
    house.settle()
    assert (house.look(uuid).provision_state, house.operation(uuid).status) == ("deploying", "waiting")
    house.clock.turn(6)
    house.settle()
    assert house.look(uuid).provision_state == "deploy failed"


def test_what_each_step_of_a_failure_list_meets_as_well_is_told_once(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available")
    for name in ("deploy.write_image", "deploy.collect_logs", "boot.clean_up_ramdisk"):
        house.script[name] = Failed("", "nobody knows the host")
    house.verb(uuid, "active")
    house.settle()
    assert (house.look(uuid).last_error or "").count("nobody knows the host") == 1


def test_slow_nodes_take_a_step_together_and_who_is_slower_than_they_alone_and_then_all_is_forgotten(
    house: EngineHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "COMPANY", (timedelta(seconds=1),) * 3)  # for runs that tell of one after the other
    *slow, slowest, quick = (house.node(provision_state="available") for _ in range(4))
    for uuid, times in ((slow[0], 1), (slow[1], 1), (slowest, 2)):
        outcomes = iter([Behind()] * times)
        house.script[f"{uuid} deploy.write_image"] = lambda _, outcomes=outcomes: next(outcomes, None)
    for uuid in (*slow, slowest, quick):
        house.verb(uuid, "active")
    house.settle()
    until = time.monotonic() + 20
    while house.look(slowest).provision_state != "active":
        assert time.monotonic() < until
        house.settle()
    assert [len(run.nodes) for run in house.runner.runs] == [4, 3, 1]
    for uuid in (*slow, slowest):
        assert (house.operation(uuid).status, house.operation(uuid).alone) == ("done", False)
        assert operations.SLOW not in house.operation(uuid).facts


def test_a_step_that_is_not_batched_has_a_run_of_its_own_and_is_judged_host_by_host(tmp_path: Path) -> None:
    steps = (
        step(Phase.DEPLOY, Interface.DEPLOY, "deploy", 100),
        step(Phase.DEPLOY, Interface.VENDOR, "label", 50, batched=False),
        step(Phase.DEPLOY, Interface.DEPLOY, "boot_instance", 20),
        step(Phase.DEPLOY, Interface.BOOT, "eject", 1, stage=Stage.FAILURE),
    )
    house = EngineHouse(tmp_path, steps=steps)
    good, bad = (house.node(provision_state="available") for _ in range(2))
    house.script[f"{bad} vendor.label"] = Failed("", "task 'Print': out of paper")
    for uuid in (good, bad):
        house.verb(uuid, "active")
    house.settle()
    assert house.look(good).provision_state == "active"
    assert house.look(bad).provision_state == "deploy failed"
    assert "vendor.label failed: task 'Print': out of paper" in (house.look(bad).last_error or "")
    assert [run.batched for run in house.runner.runs][:2] == [True, False]
    house.close()

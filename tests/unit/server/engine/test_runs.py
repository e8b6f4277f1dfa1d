# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path

import pytest
from sqlmodel import select

from rackwright.domain.errors import RackwrightError
from rackwright.domain.outcomes import Failed, Learned, Report, Started, WaitFor, Waiting, render
from rackwright.domain.steps import ArgInfo, StepRequest
from rackwright.domain.verbs import Interface, Phase
from rackwright.engine import operations, plan, recovery
from rackwright.engine.composition import loaded
from rackwright.engine.live import LiveRun, LiveRuns
from rackwright.engine.progress import Progress
from rackwright.engine.rests import LONGEST
from rackwright.engine.subjects import Subjects, UnknownRun
from rackwright.engine.waves import LAST_ATTEMPT
from rackwright.runner.base import RunResult, RunStatus
from rackwright.runner.fake import Death
from rackwright.store.history import NodeHistory
from rackwright.store.session import reading, writing
from rackwright.store.work import locked
from tests.unit.server.engine.engine_house import HOST, STEPS, EngineHouse, step


def _claimed(house: EngineHouse, uuid: str, verb: str = "active") -> LiveRun:
    """Start a phase and let a run that nobody plays hold it."""
    started = house.verb(uuid, verb)
    with writing(house.world.database) as session:
        found = locked(started.uuid, session=session)
        assert found and operations.claim(*found, "run-1", world=house.world)
        session.commit()
    return LiveRun("run-1", Phase(started.phase), loaded(started.steps), 0, {uuid: started.uuid})


def _history(house: EngineHouse) -> list[NodeHistory]:
    with reading(house.world.database) as session:
        return list(session.exec(select(NodeHistory)).all())


def test_nodes_of_the_same_leg_share_a_run(house: EngineHouse) -> None:
    for _ in range(10):
        house.verb(house.node(provision_state="available"), "active")
    house.settle()
    assert [len(run.nodes) for run in house.runner.runs] == [10]
    assert house.runner.runs[0].playbook == "rackwright.metal.deploy"
    assert [each["index"] for each in house.runner.runs[0].steps] == [0, 1, 2]


def test_a_wave_is_no_larger_than_its_limit(tmp_path: Path) -> None:
    house = EngineHouse(tmp_path, wave_size=4)
    for _ in range(10):
        house.verb(house.node(provision_state="available"), "active")
    house.settle()
    assert sorted(len(run.nodes) for run in house.runner.runs) == [2, 4, 4]
    house.close()


def test_a_poisonous_node_fails_alone_and_its_wave_goes_on(house: EngineHouse) -> None:
    uuids = [house.node(provision_state="available") for _ in range(8)]

    def poison(_: str) -> None:
        raise Death("the worker was killed")

    house.script[f"{uuids[3]} deploy.write_image"] = poison
    for uuid in uuids:
        house.verb(uuid, "active")
    house.clock.turn(LONGEST)
    house.settle()
    states = [house.look(uuid).provision_state for uuid in uuids]
    assert states == ["active"] * 3 + ["deploy failed"] + ["active"] * 4
    text = house.look(uuids[3]).last_error or ""
    assert "deploy.write_image" in text and f"died {LAST_ATTEMPT} times" in text and "the worker was killed" in text


@pytest.mark.parametrize("kept", [True, False])
def test_a_step_whose_runs_died_names_the_folder_of_the_last_one_only_if_it_is_there(
    house: EngineHouse, kept: bool
) -> None:
    def die(_: str) -> None:
        if kept:
            (house.settings.state_dir / "runs" / house.runner.runs[-1].run_id).mkdir(parents=True)
        raise Death("the worker was killed")

    uuid = house.node(provision_state="available")
    house.script["deploy.write_image"] = die
    house.verb(uuid, "active")
    house.clock.turn(LONGEST)
    house.settle()
    text = house.look(uuid).last_error or ""
    runs = [run.run_id for run in house.runner.runs if any(each["name"] == "write_image" for each in run.steps)]
    assert (f"runs/{runs[-1]} in the state directory" in text) is kept
    assert "log of the conductor" in text and ("runs/" in text) is kept


def test_progress_forgets_earlier_deaths(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available")
    deaths = dict.fromkeys(("deploy.deploy", "deploy.write_image"), LAST_ATTEMPT - 1)

    def fragile(name: str) -> object:
        def play(_: str) -> None:
            if deaths[name]:
                deaths[name] -= 1
                raise Death("killed")

        return play

    for name in deaths:
        house.script[name] = fragile(name)
    house.verb(uuid, "active")
    house.clock.turn(LONGEST)
    house.settle()
    assert house.look(uuid).provision_state == "active"


def test_a_run_that_cannot_store_its_lines_is_tried_again(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available")
    bad = iter((Learned({"power_state": object()}), None))  # no JSON can hold it
    house.script["deploy.write_image"] = lambda _: next(bad)
    house.verb(uuid, "active")
    house.clock.turn(LONGEST)
    house.settle()
    assert house.look(uuid).provision_state == "active"


def test_lines_of_a_run_that_lost_the_operation_do_no_harm(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available")
    run, progress = _claimed(house, uuid), Progress(house.world)
    before = house.operation(uuid)
    for other in (LiveRun("run-0", run.phase, run.steps, 0, run.operations),):
        progress.lines(other, [render(Report(uuid, 1, Failed("", "late")))])
        progress.ended(other, RunResult(RunStatus.DIED, cause="late"))
    assert house.operation(uuid) == before


def test_a_line_that_comes_twice_or_too_late_changes_nothing(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available")
    run, progress = _claimed(house, uuid), Progress(house.world)
    progress.lines(run, [render(Report(uuid, 1, Started()))])
    for late in (Report(uuid, 1, Started()), Report(uuid, 0, Failed("", "late")), Report(uuid, 0, Started())):
        progress.lines(run, [render(late)])
    assert (house.operation(uuid).position, house.operation(uuid).error) == (1, None)
    assert house.look(uuid).deploy_step["step"] == "write_image"
    progress.lines(run, [render(Report(uuid, 1, Waiting(WaitFor.AGENT)))])
    progress.lines(run, [render(Report(uuid, 1, Waiting(WaitFor.AGENT)))])
    assert house.operation(uuid).status == "waiting"


def test_a_power_state_shows_when_the_node_is_free_again(house: EngineHouse) -> None:
    uuid = house.node(provision_state="manageable", power_state="power on")
    common = {"catalog": house.world.catalog, "settings": house.world.settings, "user": None}
    house.within(uuid, plan.start_power, target="power off", timeout=None, **common)
    started = house.operation(uuid)
    with writing(house.world.database) as session:
        found = locked(started.uuid, session=session)
        assert found and operations.claim(*found, "run-1", world=house.world)
        session.commit()
    run = LiveRun("run-1", Phase.POWER, loaded(started.steps), 0, {uuid: started.uuid})
    progress = Progress(house.world)
    progress.lines(run, [render(Report(uuid, 0, Learned({"power_state": "power off"})))])
    node = house.look(uuid)
    assert (node.power_state, node.reservation) == ("power on", HOST)
    progress.ended(run, RunResult(RunStatus.FINISHED))
    node = house.look(uuid)
    assert (node.power_state, node.target_power_state, node.reservation) == ("power off", None, None)


def test_lines_about_a_node_that_was_deleted_are_ignored(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available")
    run, progress = _claimed(house, uuid), Progress(house.world)
    house.within(uuid, lambda session, node: session.delete(node))
    progress.lines(run, [render(Report(uuid, 1, Started()))])
    progress.ended(run, RunResult(RunStatus.FINISHED))


def test_the_door_tells_only_of_nodes_that_are_still_in_the_run(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available", driver_info={"redfish_address": "192.0.2.9"})
    run, runs = _claimed(house, uuid), LiveRuns()
    runs.add(run)
    subjects = Subjects(house.world, runs)
    told = subjects.answer("run-1", 1, None)[uuid]
    assert told["step"] == {"name": "write_image", "interface": "deploy", "index": 1, "args": {}}
    assert told["phase"] == "deploy"
    house.within(uuid, plan.cancel_operations)
    assert subjects.answer("run-1", 1, None) == {}
    with pytest.raises(UnknownRun):
        subjects.answer("run-2", 1, None)
    with pytest.raises(RackwrightError, match="no step 7"):
        subjects.answer("run-1", 7, None)


def test_secrets_are_open_at_the_door_for_a_step_and_masked_in_the_inventory(house: EngineHouse) -> None:
    secret = house.world.sealer.seal({"redfish_password": "canary"})
    uuid = house.node(provision_state="available", driver_info=secret)
    runs = LiveRuns()
    runs.add(_claimed(house, uuid))
    subjects = Subjects(house.world, runs)
    assert subjects.answer("run-1", 0, None)[uuid]["node"]["driver_info"] == {"redfish_password": "canary"}
    assert "canary" not in str(subjects.answer("run-1", None, None))


def test_an_abort_of_a_running_operation_takes_the_node_out_before_its_next_step(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available")
    runs = LiveRuns()
    runs.add(_claimed(house, uuid))
    with writing(house.world.database) as session:
        operation, _ = locked(house.operation(uuid).uuid, session=session) or (None, None)
        assert operation is not None
        operation.abort_requested = True
        session.commit()
    subjects = Subjects(house.world, runs)
    assert uuid in subjects.answer("run-1", 0, None), "the step that runs comes to its end"
    assert subjects.answer("run-1", 1, None) == {}
    house.settle()
    assert (house.look(uuid).provision_state, house.operation(uuid).status) == ("deploy failed", "aborted")


def test_arguments_of_ordinary_tasks_travel_as_role_variables(tmp_path: Path) -> None:
    own = step(
        Phase.CLEAN,
        Interface.VENDOR,
        "label",
        batched=False,
        variables={"text": "label_text"},
        argsinfo={"text": ArgInfo(required=True)},
    )
    house = EngineHouse(tmp_path, steps=(*STEPS, own))
    uuid = house.node(provision_state="manageable")
    started = house.verb(uuid, "clean", StepRequest(interface=Interface.VENDOR, step="label", args={"text": "{{ 1 }}"}))
    with writing(house.world.database) as session:
        found = locked(started.uuid, session=session)
        assert found and operations.claim(*found, "run-1", world=house.world)
        session.commit()
    runs = LiveRuns()
    runs.add(LiveRun("run-1", Phase.CLEAN, loaded(started.steps), 0, {uuid: started.uuid}))
    told = Subjects(house.world, runs).answer("run-1", None, None)
    assert told[uuid]["variables"] == {"label_text": "{{ 1 }}"}
    house.close()


def test_a_conductor_that_died_is_followed_by_one_that_goes_on_where_it_was(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available")
    run, progress = _claimed(house, uuid), Progress(house.world)
    progress.lines(run, [render(Report(uuid, 1, Started()))])
    house.reopen()
    house.settle()
    assert house.look(uuid).provision_state == "active"
    assert house.steps_of(uuid) == ["deploy.write_image", "deploy.boot_instance"]


def test_deaths_of_conductors_are_not_counted_against_a_node(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available")
    _claimed(house, uuid)
    for _ in range(5):
        house.reopen()
        with writing(house.world.database) as session:
            found = locked(house.operation(uuid).uuid, session=session)
            assert found and operations.claim(*found, "again", world=house.world)
            session.commit()
    house.reopen()
    house.settle()
    assert house.look(uuid).provision_state == "active"


def test_a_step_that_is_repeated_after_a_death_records_the_power_that_it_finds(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available", power_state="power on")
    run = _claimed(house, uuid)
    Progress(house.world).lines(run, [render(Report(uuid, 0, Learned({"power_state": "power off"})))])
    house.reopen()
    with writing(house.world.database) as session:
        found = locked(house.operation(uuid).uuid, session=session)
        assert found and operations.claim(*found, run.run_id, world=house.world)
        session.commit()
    assert house.look(uuid).power_state == "power off"
    for outcome in (Started(), Learned({"power_state": "power on"}), Waiting(WaitFor.AGENT)):
        Progress(house.world).lines(run, [render(Report(uuid, 0, outcome))])
    node = house.look(uuid)
    assert (node.provision_state, node.power_state) == ("wait call-back", "power on")


def test_an_operation_whose_run_ended_without_a_word_is_found(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available")
    _claimed(house, uuid)
    house.settle()
    assert house.operation(uuid).status == "running"
    house.clock.turn(61)
    house.settle()
    assert house.look(uuid).provision_state == "active"


def test_a_node_in_the_middle_of_nothing_is_freed_at_start_with_a_reason(house: EngineHouse) -> None:
    stuck = house.node(provision_state="cleaning", target_provision_state="available", reservation=HOST)
    held = house.node(provision_state="deploy hold", target_provision_state="active")
    idle = house.node(provision_state="available", reservation=HOST)
    recovery.recover(house.world)
    assert house.look(stuck).provision_state == "clean failed"
    assert "repeat" in (house.look(stuck).last_error or "")
    assert house.look(held).provision_state == "deploy failed"
    assert {house.look(uuid).reservation for uuid in (stuck, held, idle)} == {None}
    assert house.look(idle).provision_state == "available"


def test_boot_media_and_images_stay_only_while_their_operation_lasts(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available")
    house.script["deploy.write_image"] = Waiting(WaitFor.AGENT)
    house.verb(uuid, "active")
    house.settle()
    boot, images, now = house.settings.boot_dir, house.settings.image_dir, house.operation(uuid).uuid
    images.mkdir(parents=True, exist_ok=True)
    needed = boot / f"{now}.iso", images / now
    left = boot / "33333333-3333-4333-8333-333333333333.iso", images / "33333333-3333-4333-8333-333333333333"
    for medium in (*needed, *left):
        medium.write_bytes(b"iso")
    for number in range(recovery.KEPT_RUNS + 3):
        folder = house.settings.state_dir / "runs" / f"run-{number}"
        folder.mkdir(parents=True)
        os.utime(folder, (number, number))
    recovery.recover(house.world)
    assert all(medium.exists() for medium in needed)
    assert not any(medium.exists() for medium in left)
    runs = {path.name for path in (house.settings.state_dir / "runs").iterdir()}
    assert len(runs) == recovery.KEPT_RUNS and "run-0" not in runs


def test_what_happened_is_in_the_history(house: EngineHouse) -> None:
    uuid = house.node(provision_state="available")
    house.script["deploy.write_image"] = Failed("", "no image")
    house.verb(uuid, "active", user="alice")
    house.clock.turn(7)
    house.settle()
    entries = _history(house)
    told = [(each.severity, each.event_type, each.user, each.conductor) for each in entries]
    host = house.settings.conductor_host
    assert told == [
        ("INFO", "deployment_start", "alice", host),
        ("ERROR", "deploying", "alice", host),
        ("INFO", "deployment_end", "alice", host),
    ]
    assert "no image" in (entries[1].event or "")
    places = [(each.state, each.target_provision_state, each.duration_seconds) for each in entries]
    assert places == [("deploying", "active", 0), ("deploying", "active", 7), ("deploying", "active", 7)]


def test_cleaning_that_is_switched_off_leaves_no_history(tmp_path: Path) -> None:
    house = EngineHouse(tmp_path, automated_clean=False)
    uuid = house.node(provision_state="manageable")
    house.verb(uuid, "provide")
    house.settle()
    assert (house.look(uuid).provision_state, _history(house)) == ("available", [])
    house.close()


def test_the_history_keeps_only_the_newest_entries(tmp_path: Path) -> None:
    house = EngineHouse(tmp_path, node_history_max_entries=3)
    uuid = house.node(provision_state="available")
    house.script["deploy.write_image"] = Failed("", "no image")
    for _ in range(3):
        house.verb(uuid, "active")
        house.settle()
    entries = _history(house)
    assert len(entries) == 3
    house.close()

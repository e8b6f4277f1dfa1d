# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Who goes first, and how many at once: told by the order in which steps were played."""

from __future__ import annotations

import threading
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from rackwright.domain.errors import TooManyOperations
from rackwright.domain.outcomes import Learned, WaitFor, Waiting
from rackwright.domain.verbs import Phase
from rackwright.engine import admission, plan
from rackwright.engine.admission import Admission, begun_first, below_limits, choose, grown, in_turns
from rackwright.engine.live import LiveRun, LiveRuns
from rackwright.engine.readiness import Readiness
from rackwright.engine.waves import ASIDE, Lane, form
from tests.unit.server.engine.engine_house import EngineHouse
from tests.unit.server.engine.test_waves import BOOT, ready

ON = "power on"


def _power(house: EngineHouse, uuid: str) -> None:
    house.within(
        uuid, plan.start_power, settings=house.settings, catalog=house.world.catalog, target=ON, user="somebody"
    )


def test_a_node_that_wants_something_else_does_not_wait_for_a_big_wave(tmp_path: Path) -> None:
    house = EngineHouse(tmp_path, wave_size=2, run_slots=1)
    many = [house.node(provision_state="active") for _ in range(10)]
    for uuid in many:
        house.verb(uuid, "deleted")
    urgent = house.node(provision_state="active")
    house.script["power.set_power_state"] = Learned({"power_state": ON})
    _power(house, urgent)
    house.settle()
    assert house.played.index((urgent, "power.set_power_state")) <= 2
    house.close()


def test_a_node_of_another_asker_does_not_wait_for_a_thousand_of_the_same_kind(tmp_path: Path) -> None:
    house = EngineHouse(tmp_path, wave_size=4, run_slots=1)
    for _ in range(20):
        house.verb(house.node(provision_state="active"), "deleted", project="big")
    urgent = house.node(provision_state="active")
    house.verb(urgent, "deleted", project="small")
    house.settle()
    first_wave = {node for node, _ in house.played[:4]}
    assert urgent in first_wave
    house.close()


def test_waves_of_two_kinds_take_turns() -> None:
    deploys = [ready(number) for number in range(6)]
    boots = [ready(number, leg=BOOT) for number in range(10, 12)]
    formed = form([*deploys, *boots], size=2)
    order = [wave.leg for wave in in_turns(formed, Counter())]
    assert order.index(BOOT) == 1
    assert in_turns(formed, Counter({formed[0].lane: 1}))[0].leg == BOOT
    assert in_turns(formed, Counter(), [formed[0].lane])[0].leg == BOOT


def test_one_kind_of_work_leaves_a_slot_to_the_others() -> None:
    waves = form([ready(number) for number in range(8)], size=2)
    assert len(choose(waves, Counter(), free=4, slots=4)) == 3
    assert choose(waves, Counter({waves[0].lane: 3}), free=1, slots=4) == []
    other = form([ready(9, leg=BOOT)], size=2)
    assert choose([*waves, *other], Counter({waves[0].lane: 3}), free=1, slots=4) == other


def test_what_has_begun_goes_on_before_more_is_begun() -> None:
    begun, more = form([ready(number, begun=True) for number in range(4)], size=2), form([ready(9)], size=2)
    assert begun_first([*more, *reversed(begun)], Counter({more[0].lane: 1}), slots=4) == [*begun, *more]
    assert begun_first([*more, *begun], Counter({more[0].lane: 1}), slots=1) == [*more, *begun]


def test_a_machine_whose_agent_has_come_goes_on_before_others_are_begun(house: EngineHouse) -> None:
    runs = LiveRuns()
    for name in ("verify", "power"):
        runs.add(LiveRun(name, Phase.POWER, (), 0, {}, lane=Lane(name, begins=True)))
    fresh, woken = ready(1, position=0, leg=BOOT), ready(9, position=0, begun=True)
    (wave,) = Admission(house.world, runs).waves([fresh, woken], free=1)
    assert wave.members == (woken,)


def test_an_operation_has_begun_with_its_first_run_also_while_it_stays_at_its_first_step(house: EngineHouse) -> None:
    house.script["deploy.deploy"] = Waiting(WaitFor.AGENT)
    uuid = house.node(provision_state="available")
    house.verb(uuid, "active")
    readiness = Readiness(house.world)
    assert [(one.position, one.begun) for one in readiness.look()] == [(0, False)]
    house.settle()
    house.beat(uuid)
    assert [(one.position, one.begun) for one in readiness.look()] == [(0, True)]


def test_kinds_of_work_that_have_no_run_begin_at_once_up_to_half_of_the_slots() -> None:
    begun = form([ready(1, begun=True)], size=2)
    one, other, third = (form([ready(9, phase=phase)], size=2)[0] for phase in (Phase.POWER, Phase.CLEAN, Phase.DEPLOY))
    assert begun_first([*begun, one, other, third], Counter(), slots=4) == [one, other, *begun, third]
    assert begun_first([*begun, one, other], Counter({third.lane: 1}), slots=4) == [one, *begun, other]


def test_with_one_slot_everybody_may_have_it() -> None:
    assert len(choose(form([ready(1)], size=2), Counter(), free=1, slots=1)) == 1


@pytest.mark.parametrize(("runs", "loaded", "seconds"), [(0, False, 0), (1, False, 0.5), (0, True, 0.5), (1, True, 2)])
def test_nodes_wait_a_little_for_others_while_there_is_enough_to_do(runs: int, loaded: bool, seconds: float) -> None:
    (wave,) = form([ready(1), ready(2)], size=9)
    end, busy = wave.since + timedelta(seconds=seconds), Counter({wave.lane: runs})
    if seconds:
        assert grown([wave], busy, loaded=loaded, size=9, at=end - timedelta(milliseconds=1)) == ([], end)
    assert grown([wave], busy, loaded=loaded, size=9, at=end) == ([wave], None)
    assert grown([wave], busy, loaded=loaded, size=2, at=wave.since) == ([wave], None), "it is full"


def test_a_node_on_its_own_does_not_wait_for_others() -> None:
    (wave,) = form([ready(1, alone=True)], size=9)
    assert grown([wave], Counter({wave.lane: 1}), loaded=True, size=9, at=wave.since) == ([wave], None)


@pytest.mark.parametrize(("attempts", "seconds"), [(1, 1), (2, 2), (5, 16), (7, 60), (10**6, 60)])
def test_what_died_is_tried_again_ever_later(attempts: int, seconds: float) -> None:
    (wave,) = form([ready(1, attempts=attempts, before="run-1")], size=1)
    end = wave.since + timedelta(seconds=seconds)
    assert grown([wave], Counter(), loaded=False, size=1, at=end - timedelta(milliseconds=1)) == ([], end)
    assert grown([wave], Counter(), loaded=False, size=1, at=end) == ([wave], None)


def test_those_who_come_during_a_run_share_the_next_one(house: EngineHouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "COMPANY", (timedelta(), timedelta(minutes=1), timedelta(minutes=1)))
    first, *others = (house.node(provision_state="active") for _ in range(6))
    begun, go_on = threading.Event(), threading.Event()

    def hold(_: str) -> None:
        begun.set()
        go_on.wait(20)

    house.script[f"{first} power.power_off"] = hold
    house.verb(first, "deleted")
    house.conductor.tick()
    assert begun.wait(20)
    for uuid in others:
        house.verb(uuid, "deleted")
        house.conductor.tick()
    go_on.set()
    house.settle()
    assert [len(run.nodes) for run in house.runner.runs if run.playbook.endswith("undeploy")] == [1, 5]


def test_slow_nodes_never_have_more_than_half_of_the_slots() -> None:
    slow = [ready(number, alone=True) for number in range(9)]
    waves = form([*slow, ready(10), ready(11)], size=200)
    chosen = choose(waves, Counter(), free=4, slots=4)
    assert [wave.lane == ASIDE for wave in chosen].count(True) == 2
    assert [len(wave.members) for wave in chosen if wave.lane != ASIDE] == [2]


@pytest.mark.parametrize(("limits", "expected"), [({"rack": 2}, [1, 2, 4]), ({"rack": 0}, [1, 2, 3, 4])])
def test_no_more_nodes_of_a_rack_go_on_than_the_limit_says(limits: dict[str, int], expected: list[int]) -> None:
    a, b = frozenset({("rack", "a")}), frozenset({("rack", "b")})
    where = {"operation-1": a, "operation-2": a, "operation-3": a, "operation-4": b}
    found = below_limits([ready(number) for number in (4, 3, 2, 1)], where, Counter(), limits)
    assert [one.operation for one in found] == [f"operation-{number}" for number in expected]


def test_nodes_that_runs_have_count_against_the_limit() -> None:
    place = ("bmc", "https://192.0.2.1")
    where = {"operation-1": frozenset({place})}
    assert below_limits([ready(1)], where, Counter({place: 1}), {"bmc": 1}) == []


@pytest.mark.parametrize(
    ("settings", "columns"),
    [
        ({"max_running_per_rack": 2}, {"properties": {"rack": "r1"}}),
        ({"max_running_per_rack": 2, "rack_property": ""}, {"conductor_group": "r1"}),
        ({"max_running_per_bmc": 2}, {"driver_info": {"redfish_address": "https://192.0.2.1"}}),
    ],
)
def test_a_rack_is_worked_on_a_few_nodes_at_a_time_and_all_are_done_in_the_end(
    tmp_path: Path, settings: dict[str, Any], columns: dict[str, Any]
) -> None:
    house = EngineHouse(tmp_path, **({"conductor_group": columns.get("conductor_group", "")} | settings))
    for _ in range(7):
        house.verb(house.node(provision_state="active", automated_clean=False, **columns), "deleted")
    house.settle()
    assert max(len(run.nodes) for run in house.runner.runs) == 2
    assert len({node for node, _ in house.played}) == 7
    house.close()


def test_limits_of_each_conductor_group_are_its_own(tmp_path: Path) -> None:
    house = EngineHouse(tmp_path, max_concurrent_deploy=1, max_concurrent_per_conductor_group=True)
    house.node(provision_state="wait call-back", conductor_group="a")
    house.verb(house.node(provision_state="available", conductor_group="b"), "active")
    with pytest.raises(TooManyOperations, match="limit of 1 such operations at once in conductor group 'a'"):
        house.verb(house.node(provision_state="available", conductor_group="a"), "active")
    house.close()


def test_a_bmc_that_hangs_holds_up_nobody_else(house: EngineHouse) -> None:
    answers = threading.Event()
    slow, quick = house.node(provision_state="active"), house.node(provision_state="active")

    def hang(_: str) -> Learned:
        answers.wait(20)
        return Learned({"power_state": ON})

    house.script[f"{slow} power.set_power_state"] = hang
    _power(house, slow)
    house.conductor.tick()
    house.script["power.set_power_state"] = Learned({"power_state": ON})
    _power(house, quick)
    house.conductor.tick()
    while house.look(quick).power_state != ON:
        house.conductor.tick()
    assert house.look(slow).target_power_state == ON
    answers.set()
    house.settle()

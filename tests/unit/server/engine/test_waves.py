# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rackwright.domain.verbs import Interface, Phase
from rackwright.engine.waves import Ready, form
from tests.unit.server.engine.engine_house import step

WRITE = (step(Phase.DEPLOY, Interface.DEPLOY, "write_image"),)
BOOT = (step(Phase.DEPLOY, Interface.DEPLOY, "boot_instance"),)
START = datetime(2026, 1, 1, tzinfo=UTC)


def ready(number: int, **more: Any) -> Ready:
    return Ready(
        **{
            "operation": f"operation-{number}",
            "phase": Phase.DEPLOY,
            "leg": WRITE,
            "position": 1,
            "since": START + timedelta(seconds=number),
            **more,
        }
    )


def sizes(*members: Ready, size: int = 200) -> list[int]:
    return [len(wave.members) for wave in form(members, size=size)]


def test_equal_legs_share_a_wave_and_others_do_not() -> None:
    assert sizes(ready(1), ready(2), ready(3, leg=BOOT)) == [2, 1]
    assert sizes(ready(1), ready(2, phase=Phase.CLEAN)) == [1, 1]
    assert sizes(ready(1), ready(2, position=2)) == [1, 1]


def test_the_wave_of_the_node_that_waits_longest_is_first() -> None:
    waves = form([ready(5), ready(1, leg=BOOT), ready(9)], size=200)
    assert [wave.leg for wave in waves] == [BOOT, WRITE]


def test_slow_nodes_share_a_run_and_who_is_slower_than_they_is_alone() -> None:
    slow = [ready(number, slow=True) for number in range(4, 7)]
    assert sizes(ready(1, slow=True, alone=True), ready(2), ready(3), *slow) == [1, 2, 3]


def test_a_dead_wave_is_halved_and_then_taken_apart() -> None:
    once = [ready(number, attempts=1, before="run-1") for number in range(9)]
    assert sizes(*once) == [5, 4]
    assert sizes(*(ready(number, attempts=2, before="run-2") for number in range(3))) == [1, 1, 1]


def test_nodes_of_different_dead_waves_do_not_mix() -> None:
    mixed = [ready(number, attempts=1, before=f"run-{number % 2}") for number in range(4)]
    assert sizes(*mixed) == [1, 1, 1, 1]
    assert sizes(ready(1, attempts=1, before="run-1"), ready(2)) == [1, 1]


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.integers(0, 3)), max_size=60), st.integers(1, 20))
def test_every_node_is_in_exactly_one_wave_of_a_legal_size(kinds: list[tuple[int, bool, int]], size: int) -> None:
    members = [
        ready(number, attempts=attempts, alone=alone, position=position, before="run-1" if attempts else None)
        for number, (attempts, alone, position) in enumerate(kinds)
    ]
    waves = form(members, size=size)
    assert sorted(one.operation for wave in waves for one in wave.members) == sorted(one.operation for one in members)
    assert all(1 <= len(wave.members) <= size for wave in waves)
    assert all(len({one.position for one in wave.members}) == 1 for wave in waves)

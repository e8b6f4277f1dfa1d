# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Nothing grows beyond its bound while hours go by; tests/benchmark/day.py lets a whole day go by."""

from __future__ import annotations

from pathlib import Path

import pytest

from rackwright.engine import membership
from tests.benchmark import day
from tests.benchmark.levels import faults

NODES = 12


def test_two_hours_of_work_leave_no_more_than_may_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(membership, "_uptime", membership._uptime)  # the day turns it
    with day.day(tmp_path, NODES, turns=12) as work:
        levels = [work.hour(number) for number in range(2)]
    assert faults(levels, day.bounds(NODES, 1), warm_up=1) == []
    assert levels[1]["nodes that are active"] == day.TOGETHER - 1  # the agent of the last one is silent
    assert levels[1]["nodes that are deploy failed"] == 1
    assert levels[1]["rows of driver_call"] == 2


@pytest.mark.parametrize(
    ("before", "after", "bounds", "found"),
    [
        (5, 5, {}, False),
        (5, 6, {}, True),
        (5, 6, {"rows": 6}, False),
        (5, 7, {"rows": 6}, True),
    ],
)
def test_what_has_grown_beyond_its_bound_is_told(
    before: int, after: int, bounds: dict[str, float], found: bool
) -> None:
    told = faults([{"rows of node": before}, {"rows of node": after}], bounds, warm_up=1)
    assert bool(told) is found
    assert all("rows of node" in each for each in told)

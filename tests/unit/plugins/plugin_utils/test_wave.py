# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

FAKE = "rackwright.metal.fake"
POWER = {"name": "set_power_state", "interface": "power", "role": FAKE, "tasks": "act"}
READ = {"name": "read_power_state", "interface": "power", "role": FAKE, "tasks": "act"}
MANAGE = {"name": "read_management", "interface": "management", "role": FAKE, "tasks": "act"}


def target(value: str) -> dict[str, Any]:
    return {**POWER, "args": {"target": value}}


def test_two_nodes_of_one_wave_get_their_own_values(stage: Any) -> None:
    stage.node("one", steps=[target("power on")])
    stage.node("two", steps=[target("power off")])
    run = stage.play([POWER])
    assert run.code == 0, run.output
    assert run.facts("one") == {"power_state": "power on"}
    assert run.facts("two") == {"power_state": "power off"}
    assert run.of("one") == [("start", 0), ("facts", 0)]


def test_a_node_that_fails_leaves_the_run_and_stops_no_other(stage: Any) -> None:
    steps = [target("power on"), MANAGE]
    stage.node("good", steps=steps)
    stage.node("bad", steps=steps, node={"driver_info": {"fake_fail": "set_power_state"}})
    run = stage.play([POWER, MANAGE])
    assert run.code == 0, run.output
    assert run.of("bad") == [("start", 0), ("failed", 0)]
    assert run.of("good") == [("start", 0), ("facts", 0), ("start", 1)]

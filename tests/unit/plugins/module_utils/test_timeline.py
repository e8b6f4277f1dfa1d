# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._timeline import rows, table


def at(seconds: float) -> str:
    return datetime.fromtimestamp(1000 + seconds, UTC).isoformat()


def operation(phase: str, finished: float | None, *entries: tuple[float, str | None, str]) -> dict[str, Any]:
    return {
        "phase": phase,
        "finished_at": None if finished is None else at(finished),
        "timeline": [{"at": at(moment), "step": step, "activity": activity} for moment, step, activity in entries],
    }


CLEAN = operation(
    "clean",
    60,
    (0, "boot.boot_ramdisk", "runs"),
    (2, "boot.boot_ramdisk", "waits"),
    (42, "deploy.erase", "runs"),
    (59, None, "runs"),
)


def test_each_stretch_lasts_until_the_next_one_begins() -> None:
    found = [(row["step"], row["activity"], row["seconds"]) for row in rows([CLEAN])]
    assert found == [("boot.boot_ramdisk", "runs", 2), ("boot.boot_ramdisk", "waits", 40), ("deploy.erase", "runs", 17)]


def test_moments_cut_the_waits_and_tell_what_came_after() -> None:
    moments = [
        {"at": 1001.0, "mark": "firmware"},
        {"at": 1010.0, "mark": "kernel"},
        {"at": 1058.0, "mark": "system"},
        {"at": 1080.0, "mark": "ready"},
    ]
    found = [(row["phase"], row["activity"], row["seconds"]) for row in rows([CLEAN], moments)]
    assert found == [
        ("clean", "runs", 2),
        ("clean", "firmware", 8),
        ("clean", "kernel", 32),
        ("clean", "runs", 17),
        ("after", "system", 20),
    ]


def test_the_table_has_a_line_for_each_row_with_times_from_the_first() -> None:
    lines = table(rows([CLEAN]))
    assert lines[0].split() == ["0.0", "s", "2.0", "s", "clean", "boot.boot_ramdisk", "runs"]
    assert lines[2].split()[:4] == ["42.0", "s", "17.0", "s"]


def test_an_operation_that_goes_on_does_not_break_the_table() -> None:
    assert len(table(rows([operation("deploy", None, (0, "deploy.deploy", "runs"))]))) == 1

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What conductors hold: memory, descriptors, threads, files and rows, and whether it grows beyond its bound."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from sqlalchemy import Engine, func, select
from sqlmodel import SQLModel

from tests.benchmark.processes import memory

Levels = Mapping[str, float]

SLACK: Levels = {"memory, MiB": 16, "descriptors": 8, "threads": 4}
"""How much more there may be than in the warm-up, of what has no number of its own as its bound."""


def measure(states: Path, database: Engine) -> dict[str, float]:
    """Return what this process and its children hold, and what lies in the state directories and in the database."""
    found: dict[str, float] = {
        "memory, MiB": round(memory(os.getpid()).pss, 1),
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "threads": threading.active_count(),
    }
    for folder in sorted(path for path in states.rglob("*") if path.is_dir()):
        if folder.name == "runs" or "runs" not in folder.parts:  # what is in the folder of a run is its own
            found[f"files in {folder.relative_to(states)}"] = len(list(folder.iterdir()))
    with database.connect() as connection:
        for table in SQLModel.metadata.sorted_tables:
            found[f"rows of {table.name}"] = connection.execute(select(func.count()).select_from(table)).scalar_one()
    return found


def faults(levels: Sequence[Levels], bounds: Levels, *, warm_up: int) -> list[str]:
    """Return what has grown beyond its bound, after ``warm_up`` looks; without a bound, beyond what it was until then.

    A bound counts for all names that begin with it.
    """
    found = []
    for name in sorted({name for each in levels for name in each}):
        before = max(each.get(name, 0) for each in levels[:warm_up]) + SLACK.get(name, 0)
        bound = next((bound for prefix, bound in bounds.items() if name.startswith(prefix)), before)
        most = max(each.get(name, 0) for each in levels[warm_up:])
        if most > bound:
            found.append(f"{name}: {most:g}, and {bound:g} is the most to be expected")
    return found


def table(levels: Sequence[Levels]) -> list[str]:
    """Return a line for each name, with what there was at each look."""
    names = dict.fromkeys(name for each in levels for name in each)
    told = {name: [f"{each.get(name, 0):g}" for each in levels] for name in names}
    return [f"{name:34} {' '.join(values)}" for name, values in told.items() if set(values) != {"0"}]

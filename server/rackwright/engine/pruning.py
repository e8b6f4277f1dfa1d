# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Remove what is kept no longer, so that nothing grows for ever (docs/howto/many-nodes.md, "What is kept").

Each conductor removes its own files; rows are for all of them, and to remove them twice does no harm.
"""

from __future__ import annotations

import fcntl
import shutil
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO

from rackwright.engine import driver_calls, recovery
from rackwright.engine.live import LiveRuns
from rackwright.engine.world import World
from rackwright.store import driver_call, pruning
from rackwright.store.session import reading

FORGOTTEN = timedelta(days=7)
"""Age of folders of Ansible's own that nothing uses any more: no run takes as long."""


BATCH = 500
"""Rows that are removed in one transaction."""

MOST = 10_000
"""Rows that are removed at a time; what is left then waits for the next time."""


def prune(world: World, runs: LiveRuns) -> None:
    """Remove everything that is more or older than it may be."""
    _remove_rows(world)
    recovery.remove_files(world, runs)
    _remove_oldest(world.settings.state_dir / "logs" / "deploy", keep=world.settings.deploy_logs_max_files)
    at, ttl = world.clock().timestamp(), timedelta(minutes=world.settings.image_cache_ttl)
    if ttl:
        _remove_unused(world.settings.state_dir / "cache", at - ttl.total_seconds())
    _remove_left(world.settings.state_dir / "ansible" / "tmp", at - FORGOTTEN.total_seconds())


def _remove_rows(world: World) -> None:
    with world.acting() as session:
        driver_call.forget(world.clock() - driver_calls.KEPT, session=session)
        session.commit()
    keep = world.settings.node_operations_max_entries
    if not keep:
        return
    with reading(world.database) as session:
        surplus = pruning.surplus_operations(keep, most=MOST, session=session)
    for start in range(0, len(surplus), BATCH):
        with world.acting() as session:
            pruning.remove_operations(surplus[start : start + BATCH], session=session)
            session.commit()


def _remove_oldest(folder: Path, *, keep: int) -> None:
    files = sorted(_entries(folder), key=recovery.changed_at, reverse=True)
    for file in files[keep:] if keep else ():
        file.unlink(missing_ok=True)


def _remove_unused(folder: Path, before: float) -> None:
    """Remove files that were last used before a moment: each use opens the lock of its file for writing."""
    for lock in _older(folder, before):
        if lock.suffix == ".lock":
            with lock.open("rb") as held:
                _remove_unless_used(lock, held, before)


def _remove_unless_used(lock: Path, held: BinaryIO, before: float) -> None:
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    if recovery.changed_at(lock) < before:
        for file in lock.parent.glob(f"{lock.stem}[-.]*"):
            if file != lock:  # which stays: others may be waiting for it
                file.unlink()


def _remove_left(folder: Path, before: float) -> None:
    for path in _older(folder, before):
        shutil.rmtree(path, ignore_errors=True)


def _older(folder: Path, before: float) -> list[Path]:
    """Return what has lain in a folder unchanged since before a moment, seconds of the epoch."""
    return [path for path in _entries(folder) if recovery.changed_at(path) < before]


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []

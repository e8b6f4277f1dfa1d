# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A database that is up to date and empty, made once for all tests: migrating took longer than most of them."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from rackwright.store.migrations import migrate
from rackwright.store.session import open_engine


@cache
def _content() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rackwright.sqlite")
        engine = open_engine(f"sqlite:///{file}")
        migrate(engine)
        engine.dispose()
        return file.read_bytes()


def lay_in(folder: Path) -> None:
    """Give a state directory its database, unless it has one."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "rackwright.sqlite"
    if not file.exists():
        file.write_bytes(_content())

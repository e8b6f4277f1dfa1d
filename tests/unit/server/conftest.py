# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.server import databases
from tests.unit.server.fresh_database import lay_in


@pytest.fixture(params=databases.BACKENDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an up to date and empty database, of each kind in turn."""
    if request.param != "sqlite":
        return databases.emptied(request.param)
    lay_in(tmp_path)
    return f"sqlite:///{tmp_path / 'rackwright.sqlite'}"


@pytest.fixture(params=databases.BACKENDS)
def bare_database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database without tables, of each kind in turn."""
    if request.param != "sqlite":
        return databases.unmigrated(request.param)
    return f"sqlite:///{tmp_path / 'rackwright.sqlite'}"

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.server.engine.engine_house import EngineHouse


@pytest.fixture
def house(tmp_path: Path) -> Iterator[EngineHouse]:
    built = EngineHouse(tmp_path)
    yield built
    built.close()

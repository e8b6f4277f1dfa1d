# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.server.api_house import House


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.server.api_house import House
from tests.unit.server.keystone_house import Keystone, identity_service


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


@pytest.fixture(scope="module")
def keystone() -> Iterator[Keystone]:
    with identity_service() as found:
        yield found

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The simulated rack of the tests that speak with BMCs themselves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.server.bmc_house import calm, small_rack
from tests.integration.server.simulated_house import Rack


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rack]:
    """Run two machines for all tests of a file."""
    with small_rack(tmp_path_factory.mktemp("simulated")) as it:
        yield it


@pytest.fixture
def rack(shared: Rack) -> Rack:
    """Return them as they were at the beginning."""
    return calm(shared)

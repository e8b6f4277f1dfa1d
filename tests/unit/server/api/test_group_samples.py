# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import pytest

from tests.unit.server.api_house import MAC, NODE, House
from tests.unit.server.conversation import Sample, answers, recorded

SAMPLES = recorded("api_samples_groups")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    house = House(tmp_path_factory.mktemp("rack"))
    house.port(house.node(uuid=NODE, name="node-1"), MAC)
    house.node(name="node-2")
    return house


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample["label"])
def test_a_recorded_request_is_answered_as_ironic_answers_it(house: House, sample: Sample) -> None:
    assert list(answers(house, sample)) == []

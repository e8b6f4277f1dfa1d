# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What the operator's settings change in the lists of steps."""

from __future__ import annotations

import pytest

from rackwright.domain.verbs import Phase
from rackwright.engine.composition import overrides
from rackwright.settings import Settings

SETTINGS = Settings(
    verify_step_priority_override={"management.check_bmc": 5},
    clean_step_priority_override={"deploy.erase_devices": 0, "raid.delete_configuration": 7},
    erase_devices_priority=9,
    erase_devices_metadata_priority=3,
)


def test_each_phase_has_its_own_priorities() -> None:
    assert overrides(Phase.VERIFY, SETTINGS) == {"management.check_bmc": 5}


def test_a_priority_by_step_beats_the_setting_of_that_step() -> None:
    assert overrides(Phase.CLEAN, SETTINGS) == {
        "deploy.erase_devices": 0,
        "deploy.erase_devices_metadata": 3,
        "raid.delete_configuration": 7,
    }


@pytest.mark.parametrize("phase", sorted(set(Phase) - {Phase.VERIFY, Phase.CLEAN}))
def test_other_phases_keep_the_declared_priorities(phase: Phase) -> None:
    assert overrides(phase, SETTINGS) == {}

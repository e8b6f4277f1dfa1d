# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.rackwright.metal.plugins.module_utils._sequence import read


def test_a_task_is_a_name_and_a_module_with_or_without_options() -> None:
    off = {"name": "Turn it off", "rackwright.metal.bmc_power": {"state": "off"}}
    assert read({"tasks": [off, {"rackwright.metal.boot_iso": None}]}) == [
        ("rackwright.metal.bmc_power", {"state": "off"}),
        ("rackwright.metal.boot_iso", {}),
    ]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({}, "tasks"),
        ({"tasks": []}, "at least one task"),
        ({"tasks": [{"name": "Nothing"}]}, "one module with its options, not: name"),
        ({"tasks": [{"rackwright.metal.bmc_nmi": {}, "when": "x"}]}, "not: rackwright.metal.bmc_nmi, when"),
        ({"tasks": [{"rackwright.metal.bmc_nmi": "now"}]}, "one module with its options"),
        ({"tasks": [], "loop": []}, "loop"),
    ],
)
def test_what_is_no_task_is_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        read(options)

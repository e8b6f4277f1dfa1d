# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Every case of the field that can be shown has a test of its name."""

import functools
import re

import pytest

from rackwright_lab.simulated.faults import FAULTS
from tests.unit.house.tree import kept, load, text

CASES = load("tests/unit/house/field_cases.yml")
SHOWN = [name for layer in CASES["shown"].values() for name in layer]
PLAYED = list(FAULTS)[list(FAULTS).index("vmedia-extra-fields-refused") :]
"""The faults of the simulated rack that are cases."""


@functools.cache
def _named() -> frozenset[str]:
    """Return the names of all tests in Python."""
    return frozenset(name for path in kept("tests/*.py") for name in re.findall(r"(?m)^def (test_\w+)\(", text(path)))


def shows(case: str) -> bool:
    """Return whether there is a test of this name, or one that goes on after it."""
    name = f"test_{case.replace('-', '_')}"
    return any(test == name or test.startswith(f"{name}_") for test in _named())


@pytest.mark.parametrize("case", SHOWN)
def test_a_case_of_the_field_is_shown_by_a_test_of_its_name(case: str) -> None:
    assert shows(case)


@pytest.mark.parametrize("case", CASES["later"])
def test_a_case_that_waits_for_a_feature_is_not_shown_yet(case: str) -> None:
    assert case not in SHOWN
    assert not shows(case), "then it belongs to those that are"


@pytest.mark.parametrize("fault", PLAYED)
def test_what_the_simulated_rack_plays_by_the_name_of_a_case_is_one(fault: str) -> None:
    assert fault in [*SHOWN, *CASES["later"]]

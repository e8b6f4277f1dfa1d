# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The pages that are made from the code are current."""

import subprocess
import sys

import pytest

from tests.unit.house.tree import ROOT, text


def reference(*arguments: str) -> str:
    command = [sys.executable, "-m", "rackwright.reference", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def test_the_generated_pages_are_current(subtests: pytest.Subtests) -> None:
    pages = [line.split() for line in reference("--list").splitlines()]
    assert pages
    for name, path in pages:
        with subtests.test(path):
            assert text(path).rstrip("\n") == reference(name).rstrip("\n")

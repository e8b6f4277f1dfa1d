# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import errno
import os
import resource
from pathlib import Path

import pytest

from rackwright.telemetry import surroundings


def test_a_host_in_order_is_no_trouble(tmp_path: Path) -> None:
    assert surroundings.trouble(tmp_path) is None


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    assert "is not there" in str(surroundings.trouble(tmp_path / "gone"))


def test_a_process_without_a_file_left_is_told(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        told = surroundings.trouble(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert "LimitNOFILE" in str(told)


def test_as_many_files_as_possible_are_allowed() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (300, hard))
    try:
        allowed = surroundings.allow_files()
        assert allowed == resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 300
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize(("number", "word"), [(errno.ENOSPC, "free space"), (errno.EMFILE, "LimitNOFILE")])
def test_an_error_of_the_host_names_what_to_do(number: int, word: str) -> None:
    assert word in str(surroundings.hindrance(OSError(number, "told by the system")))


@pytest.mark.parametrize("error", [OSError(errno.ENOENT, "no such file"), ValueError("wrong")])
def test_other_errors_are_not_the_hosts(error: Exception) -> None:
    assert surroundings.hindrance(error) is None

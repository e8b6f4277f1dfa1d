# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What is said of a program that fails."""

import pytest

from rackwright_lab.commands import find_program, run
from rackwright_lab.errors import LabError


def test_the_output_of_a_program_comes_without_white_space_around_it() -> None:
    assert run("printf", "  a b\n") == "a b"


def test_a_failure_names_program_status_and_reason() -> None:
    with pytest.raises(LabError, match=r"`ls /nowhere/at/all`.*status 2.*No such file"):
        run("ls", "/nowhere/at/all", env={"LC_ALL": "C"})


def test_a_missing_program_leads_to_the_list_of_packages() -> None:
    with pytest.raises(LabError, match=r"no-such-program.*packages\.txt"):
        run("no-such-program")
    with pytest.raises(LabError, match=r"no-such-program.*packages\.txt"):
        find_program("no-such-program")

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What is said of a program that fails, and what a command needs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import rackwright_lab
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


def test_a_rack_is_stopped_in_an_environment_without_any_package(tmp_path: Path) -> None:
    program = "import sys; sys.path.append(sys.argv.pop()); from rackwright_lab import __main__; __main__.main()"
    library = str(Path(rackwright_lab.__file__).parents[1])
    command = [sys.executable, "-I", "-S", "-c", program, "stop", "--dir", str(tmp_path), library]
    assert json.loads(subprocess.check_output(command, text=True)) == {"changed": False}

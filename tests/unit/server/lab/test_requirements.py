# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The lists of what the lab needs."""

import re
import subprocess
import tomllib
from importlib import resources
from pathlib import Path

import pytest

from rackwright_lab import enclosure
from rackwright_lab.commands import find_program
from rackwright_lab.enclosure import TOOLS
from rackwright_lab.errors import LabError

ROOT = Path(__file__).parents[4]


def entries(name: str) -> list[str]:
    text = resources.files("rackwright_lab").joinpath(name).read_text()
    return [line for line in text.splitlines() if not line.startswith("#")]


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=]", requirement)[0].lower() for requirement in requirements}


def test_debian_packages_are_listed_once_in_order() -> None:
    packages = entries("packages.txt")
    assert packages == sorted(set(packages))


def test_the_own_environment_of_a_rack_has_what_the_extra_of_the_package_brings() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = names(entries("requirements.txt"))
    assert names(project["optional-dependencies"]["lab"]) <= needed
    assert needed <= names(project["optional-dependencies"]["lab"] + project["dependencies"])


def test_each_tool_of_a_light_machine_comes_with_a_package_that_is_listed_or_essential() -> None:
    essential = subprocess.check_output(
        ["dpkg-query", "--show", "--showformat=${Package} ${Essential}\n"], text=True
    ).split("\n")
    known = {line.split()[0] for line in essential if line.endswith(" yes")} | set(entries("packages.txt"))
    owners = {tool: _owner(find_program(tool)) for tool in TOOLS.split()}
    assert {tool: owner for tool, owner in owners.items() if owner not in known} == {}


def test_a_light_machine_without_one_of_its_tools_is_not_switched_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enclosure, "TOOLS", "sh no-such-tool")
    with pytest.raises(LabError, match="no-such-tool is missing"):
        enclosure._leave_tools(tmp_path, {})


def _owner(program: Path) -> str:
    """Return the Debian package of a program; dpkg knows paths as they were before /usr was merged."""
    real = program.resolve()
    for path in (real, Path("/", *real.parts[2:])):
        found = subprocess.run(["dpkg-query", "--search", path], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    return ""

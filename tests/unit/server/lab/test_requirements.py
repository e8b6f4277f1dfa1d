# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The lists of what the lab needs."""

import re
import tomllib
from importlib import resources
from pathlib import Path

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

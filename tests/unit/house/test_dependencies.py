# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What the packages import is what they ask for."""

import importlib.metadata
import re
import sys
import tomllib

from tests.unit.house.tree import imports, kept, text

OURS = {"rackwright", "rackwright_lab", "ansible_collections"}
# Asked for without an import: the program that is run, and what uvicorn imports when it is told to.
RUN = {"ansible-core", "httptools", "uvloop"}


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(extra: str | None = None) -> set[str]:
    project = tomllib.loads(text("pyproject.toml"))["project"]
    wanted = project.get("optional-dependencies", {}).get(extra, []) if extra else project["dependencies"]
    return {canonical(re.split(r"[\s<>=!~;\[]", requirement)[0]) for requirement in wanted}


def imported(*patterns: str) -> set[str]:
    """Return the distributions whose modules the files import."""
    names = {name.split(".")[0] for path in kept(*patterns) for _, name in imports(path)}
    foreign = names - sys.stdlib_module_names - OURS
    owners = importlib.metadata.packages_distributions()
    return {canonical(owners.get(name, [name])[0]) for name in foreign}


def test_each_imported_package_is_declared_and_each_declared_one_is_used() -> None:
    extras = declared("keystone") | declared("nova") | declared("top")
    assert imported("server/rackwright/*.py", "plugins/*.py") | RUN == declared() | extras


def test_the_lab_extra_adds_what_the_lab_alone_imports() -> None:
    assert imported("server/rackwright_lab/*.py") - declared() == declared("lab")

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The limits that each file keeps."""

import ast
import re
from pathlib import PurePath

import pytest

from tests.unit.house.tree import ROOT, kept, load, parse, text

PYTHON = kept("*.py")
SOURCES = kept("*.py", "*.sh", ".ci/run", "roles/*.yml", "playbooks/*.yml")
GPL = ("plugins/", "roles/", "playbooks/", "tests/unit/plugins/", "tests/integration/targets/")
DRAWERS = {"utils", "util", "common", "misc", "manager", "helpers"}
# Written so that this file does not find itself.
OPEN_ENDS = re.compile(
    r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b|NotImplemented" r"Error|pytest\.(mark\.)?(sk" r"ip|xf" r"ail)"
)
SILENCED = re.compile(r"# *noqa(?!: [A-Z]+\d+\b.* [-#] ?\S)|# *type: *ignore(?!\[[a-z,-]+\] +# *\S)")
MACHINE_PATH = re.compile(r"/(work|farm|root|home)/[a-z.]")


@pytest.mark.parametrize("path", PYTHON)
def test_a_python_file_is_named_for_its_subject_and_is_short(path: str) -> None:
    assert PurePath(path).stem not in DRAWERS
    assert len(text(path).splitlines()) <= 400


@pytest.mark.parametrize("path", PYTHON)
def test_functions_are_short(path: str) -> None:
    functions = [node for node in ast.walk(parse(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    lengths = {node.name: (node.end_lineno or node.lineno) - node.lineno + 1 for node in functions}
    assert {name: lines for name, lines in lengths.items() if lines > 40} == {}


@pytest.mark.parametrize("path", [path for path in SOURCES if text(path).strip()])
def test_a_source_file_names_its_license(path: str) -> None:
    license_name = "GPL-3.0-or-later" if path.startswith(GPL) else "Apache-2.0"
    head = text(path).splitlines()[:6]
    assert "# Copyright: Rackwright contributors" in head
    assert f"# SPDX-License-Identifier: {license_name}" in head


@pytest.mark.parametrize("path", kept("*.py", "*.yml", "*.yaml", "*.sh", "Makefile"))
def test_nothing_is_left_open(path: str) -> None:
    assert OPEN_ENDS.findall(text(path)) == []


@pytest.mark.parametrize("path", PYTHON)
def test_a_silenced_check_names_its_code_and_reason(path: str) -> None:
    assert [line for line in text(path).splitlines() if SILENCED.search(line)] == []


@pytest.mark.parametrize("path", kept("*.py", "*.yml", "*.yaml", "*.sh", "*.md", "*.toml", "*.json", "Makefile"))
def test_no_path_of_one_machine_is_in_the_tree(path: str) -> None:
    assert [line for line in text(path).splitlines() if MACHINE_PATH.search(line)] == []


def test_the_top_level_folders_are_those_of_the_map() -> None:
    mapped = set(re.findall(r"^\| `(\w+)/` \|", text("README.md"), re.MULTILINE))
    folders = {path.split("/")[0] for path in kept() if "/" in path}
    assert {folder for folder in folders if not folder.startswith(".")} == mapped


@pytest.mark.parametrize("path", kept("changelogs/fragments/*"))
def test_a_changelog_fragment_has_known_sections_of_sentences(path: str) -> None:
    sections = {name for name, _ in load("changelogs/config.yaml")["sections"]} | {"release_summary", "trivial"}
    fragment = load(path)
    assert path.endswith(".yml")
    assert fragment and fragment.keys() <= sections
    assert all(isinstance(sentence, str) for sentences in fragment.values() for sentence in sentences)


def test_the_version_stands_in_one_place() -> None:
    version = load("galaxy.yml")["version"]
    assert f'"{version}"' not in (ROOT / "pyproject.toml").read_text()
    assert [path for path in kept("server/*.py") if re.search(rf"['\"]{re.escape(version)}['\"]", text(path))] == []

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The generated pages: they hold what the tables hold, and the kept files are current."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from rackwright.domain.states import TRANSITIONS, ProvisionState
from rackwright.domain.verbs import VERBS
from rackwright.reference import PAGES, main, member_docs, states_page, steps_schema

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", ["api", "metrics", "states", "steps", "steps-schema"])
def test_the_kept_file_is_current(name: str) -> None:
    page = PAGES[name]
    assert (ROOT / page.path).read_text() == page.make(), "run: python -m rackwright.reference --write"


def test_each_state_has_a_text_of_its_own() -> None:
    docs = member_docs(ProvisionState)
    assert set(docs) == {state.name for state in ProvisionState}
    assert len(set(docs.values())) == len(docs)
    page = states_page()
    for state in ProvisionState:
        assert f"### {state}\n\n{docs[state.name]}" in page


def test_each_transition_is_drawn_once() -> None:
    arrows = [line for line in states_page().splitlines() if " --> " in line]
    assert len(arrows) == len(set(arrows)) == len(TRANSITIONS)


def test_each_verb_and_each_state_is_in_the_tables() -> None:
    lines = states_page().splitlines()
    for target in VERBS:
        assert any(line.startswith(f"| `{target}` | 1.") for line in lines)
    assert "| available | `active`, `deploy` → deploying; `manage` → manageable |" in lines
    assert "| cleaning | none |" in lines


def test_the_schema_accepts_the_roles_of_the_collection_and_refuses_mistakes() -> None:
    validator = jsonschema.Draft202012Validator(json.loads(steps_schema()))
    for path in (ROOT / "roles").glob("*/meta/steps.yml"):
        validator.validate(yaml.safe_load(path.read_text()))
    wrong: dict[str, Any] = {"steps": [{"name": "x", "phase": "clean", "interface": "raid", "stage": "later"}]}
    assert not validator.is_valid(wrong)


def test_the_command_lists_prints_and_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["--list"])
    listed = dict(line.split() for line in capsys.readouterr().out.splitlines())
    assert listed == {name: page.path for name, page in PAGES.items()}
    main(["states"])
    assert capsys.readouterr().out == states_page()
    monkeypatch.chdir(tmp_path)
    for path in listed.values():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
    main(["--write"])
    assert (tmp_path / listed["states"]).read_text() == states_page()
    with pytest.raises(SystemExit):
        main([])

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A step is data plus a task file in a role: both are there and say the same."""

from typing import Any

import pytest

from tests.unit.house.tree import ROOT, kept, load

ROLES = sorted({path.split("/")[1] for path in kept("roles/*/meta/*")})
STAGES = ("prepare", "work", "finish", "failure")


def entry_points(role: str) -> dict[str, Any]:
    return dict(load(f"roles/{role}/meta/argument_specs.yml")["argument_specs"])


def steps(role: str) -> list[dict[str, Any]]:
    path = ROOT / f"roles/{role}/meta/steps.yml"
    return list(load(path).get("steps", [])) if path.exists() else []


def task_file(step: dict[str, Any]) -> str:
    return str(step.get("tasks") or step["name"])


def included(role: str) -> list[str]:
    """Return the task files that tasks/main.yml includes, in its order."""
    path = ROOT / f"roles/{role}/tasks/main.yml"
    tasks = load(path) if path.exists() else []
    files = [task.get(f"ansible.builtin.{verb}_tasks") for task in tasks for verb in ("include", "import")]
    return [str(file["file"] if isinstance(file, dict) else file).removesuffix(".yml") for file in files if file]


@pytest.mark.parametrize("role", ROLES)
def test_a_role_has_the_parts_of_the_skeleton(role: str) -> None:
    parts = ["README.md", "meta/main.yml", "meta/argument_specs.yml"]
    # A role that only implements an interface by doing nothing has no tasks.
    if steps(role) or kept(f"roles/{role}/tasks/*"):
        parts.append("tasks/main.yml")
    assert [part for part in parts if not (ROOT / "roles" / role / part).is_file()] == []


@pytest.mark.parametrize("role", ROLES)
def test_a_step_has_a_task_file_and_an_argument_spec(role: str) -> None:
    names = {task_file(step) for step in steps(role)}
    assert {name for name in names if not (ROOT / f"roles/{role}/tasks/{name}.yml").is_file()} == set()
    assert names - entry_points(role).keys() == set()


@pytest.mark.parametrize("role", ROLES)
def test_an_argument_of_a_step_is_specified_where_the_step_is(role: str) -> None:
    specified = {name: spec.get("options", {}).keys() for name, spec in entry_points(role).items()}
    unknown = {step["name"]: set(step.get("args", {}).values()) - specified[task_file(step)] for step in steps(role)}
    assert {name: left for name, left in unknown.items() if left} == {}


@pytest.mark.parametrize("role", ROLES)
def test_an_entry_point_has_a_task_file(role: str) -> None:
    assert [name for name in entry_points(role) if not (ROOT / f"roles/{role}/tasks/{name}.yml").is_file()] == []


@pytest.mark.parametrize("role", ROLES)
def test_the_table_of_contents_follows_the_priorities(role: str) -> None:
    contents = included(role)
    for phase in {step["phase"] for step in steps(role)}:
        offered = [step for step in steps(role) if step["phase"] == phase and task_file(step) in contents]
        ranked = sorted(offered, key=lambda step: (STAGES.index(step.get("stage", "work")), -step.get("priority", 0)))
        expected = list(dict.fromkeys(task_file(step) for step in ranked))
        assert [name for name in contents if name in expected] == expected, phase


@pytest.mark.parametrize("role", ROLES)
def test_the_specified_defaults_are_the_defaults(role: str) -> None:
    path = ROOT / f"roles/{role}/defaults/main.yml"
    defaults = (load(path) or {}) if path.exists() else {}
    specified = {
        name: option["default"]
        for entry_point in entry_points(role).values()
        for name, option in entry_point.get("options", {}).items()
        if "default" in option
    }
    assert specified == defaults


@pytest.mark.parametrize("role", ROLES)
def test_the_variables_of_a_role_start_with_its_name(role: str) -> None:
    names = {name for entry_point in entry_points(role).values() for name in entry_point.get("options", {})}
    assert {name for name in names if not name.startswith(f"{role}_")} == set()


@pytest.mark.parametrize("role", [role for role in ROLES if steps(role)])
def test_a_role_with_steps_has_a_scenario(role: str) -> None:
    assert (ROOT / f"extensions/molecule/{role}/molecule.yml").is_file()

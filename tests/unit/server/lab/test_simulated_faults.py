# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Which machines a fault strikes, and how often."""

from pathlib import Path

import pytest

from rackwright_lab.errors import LabError
from rackwright_lab.simulated.faults import FAULTS, Faults, Kind, Rule, load_profile, read_profile
from rackwright_lab.simulated.options import SimulatedOptions

NAMES = [f"node-{number}" for number in range(1, 101)]
ROOT = Path(__file__).parents[4]


def struck(*rules: Rule) -> list[str]:
    faults = Faults(NAMES, seed=1)
    faults.replace(rules)
    return [name for name, machine in faults.machines.items() if machine.request(Kind.BEFORE)]


def test_a_profile_names_faults_and_machines() -> None:
    text = "faults:\n  - {fault: unavailable, percent: 10}\n  - {fault: agent-dies, machines: node-7, times: 1}\n"
    assert read_profile(text) == [
        Rule("unavailable", percent=10),
        Rule("agent-dies", machines="node-7", times=1),
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("faults: 3", "the list `faults`"),
        ("faults: [{fault: no-such}]", "There is no fault 'no-such'"),
        ("faults: [{fault: unavailable, variant: z}]", "comes in the forms a only"),
        ("faults: [{fault: unavailable, percnt: 3}]", "is no fault: give a mapping"),
        ("faults: [", "it is no YAML"),
    ],
)
def test_a_wrong_profile_is_refused_with_the_reason(text: str, complaint: str) -> None:
    with pytest.raises(LabError, match=complaint):
        read_profile(text)


def test_a_profile_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="Give the path of a YAML file"):
        load_profile(tmp_path / "none.yml")


def test_machines_are_chosen_by_name_pattern_or_share() -> None:
    assert struck(Rule("unavailable", machines="node-7")) == ["node-7"]
    assert struck(Rule("unavailable", machines="node-9*")) == ["node-9", *(f"node-9{digit}" for digit in range(10))]
    assert len(struck(Rule("unavailable", machines="10%"))) == 10
    assert struck(Rule("unavailable")) == NAMES


def test_the_same_seed_strikes_the_same_machines() -> None:
    assert struck(Rule("unavailable", percent=30)) == struck(Rule("unavailable", percent=30))
    assert 15 < len(struck(Rule("unavailable", percent=30))) < 45


def test_a_fault_strikes_each_machine_as_often_as_was_asked_for() -> None:
    faults = Faults(NAMES, seed=1)
    faults.replace([Rule("media-stays", times=2)])
    for name in ("node-1", "node-2"):
        machine = faults.machines[name]
        assert [machine.strikes("media-stays") is not None for _ in range(4)] == [True, True, False, False]


def test_a_fault_of_a_step_leaves_other_steps_alone() -> None:
    faults = Faults(NAMES, seed=1)
    faults.replace([Rule("step-fails", step="write_image")])
    machine = faults.machines["node-1"]
    assert machine.strikes("step-fails", step="erase_devices") is None
    assert machine.strikes("step-fails", step="write_image") is not None


def test_the_page_names_every_fault() -> None:
    page = (ROOT / "docs/howto/simulate-a-fleet.md").read_text()
    assert [name for name in FAULTS if f"`{name}`" not in page] == []


@pytest.mark.parametrize("wrong", [{"machines": 0}, {"machines": 10_001}, {"boot": -1.0}])
def test_a_rack_out_of_its_range_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(LabError, match="Refused"):
        SimulatedOptions(directory=Path(), **wrong)  # type: ignore[arg-type]  # the values of the table are of one type

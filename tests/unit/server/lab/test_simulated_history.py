# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Histories of simulated machines, and what is wrong with bad ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from rackwright_lab.__main__ import main
from rackwright_lab.simulated.history import Entry, History, check

GOOD: list[Entry] = [
    {"what": "power", "state": "On"},
    {"what": "boots", "from": "disc", "found": "a.iso", "media": ["a.iso"]},
    {"what": "agent starts"},
    {"what": "command begins", "command": "clean.execute_clean_step", "step": "erase_devices", "quick": False},
    {"what": "erased", "step": "erase_devices"},
    {"what": "command ends", "command": "clean.execute_clean_step", "step": "erase_devices"},
    {"what": "command begins", "command": "deploy.execute_deploy_step", "step": "write_image", "quick": False},
    {"what": "image written", "sum": "1"},
    {"what": "command ends", "command": "deploy.execute_deploy_step", "step": "write_image"},
    {"what": "command begins", "command": "standby.power_off", "step": None, "quick": False},
    {"what": "power", "state": "Off"},
    {"what": "ejected", "power": "Off"},
    {"what": "power", "state": "On"},
    {"what": "boots", "from": "image", "media": []},
]
WRITING = GOOD.index(next(entry for entry in GOOD if entry.get("step") == "write_image"))


def written(folder: Path, entries: list[Entry]) -> Path:
    (folder / "history").mkdir()
    lines = [json.dumps({"at": float(place), **entry}) for place, entry in enumerate(entries)]
    (folder / "history" / "node-1.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def without(what: str) -> list[Entry]:
    return [entry for entry in GOOD if entry["what"] != what]


def changed(what: str, **facts: Any) -> list[Entry]:
    return [{**entry, **facts} if entry["what"] == what else entry for entry in GOOD]


def test_the_history_of_a_good_deployment_is_clean(tmp_path: Path) -> None:
    assert check(written(tmp_path, GOOD)) == []


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        (without("erased"), "a disk that had not been erased"),
        (changed("ejected", power="On"), "ejected while the power was on"),
        (without("image written"), "0 images were written, expected were 1"),
        (GOOD[:9] + GOOD[6:], "2 images were written"),
        (GOOD[:9] + GOOD[6:], "the agent was told write_image a second time"),
        ([*GOOD[: WRITING + 1], {"what": "power", "state": "Off"}], "the power went while write_image ran"),
        ([*GOOD, {"what": "busy", "command": "a", "running": "b"}], "a was sent while b ran"),
        ([*GOOD, {"what": "overlap", "request": "On", "other": "ForceOff"}], "On came while ForceOff was carried out"),
        (changed("boots", media=["a.iso"]), "booted with a medium in the drive"),
        (without("boots"), "an agent ran that nothing had booted"),
        (GOOD[:-1], "it does not run its image but disc"),
    ],
)
def test_a_bad_history_is_told(tmp_path: Path, entries: list[Entry], text: str) -> None:
    found = check(written(tmp_path, entries))
    assert any(text in one for one in found), found
    assert all(one.startswith("node-1: ") for one in found)


def test_steps_are_taken_anew_after_another_boot(tmp_path: Path) -> None:
    again = [{"what": "agent starts"}, *GOOD[3:6]]
    assert check(written(tmp_path, GOOD[:6] + again + GOOD[6:])) == []


def again(medium: str, **image: Any) -> list[Entry]:
    """Return the history of a deployment that failed after the image was written, and of another one."""
    boot: list[Entry] = [
        {"what": "power", "state": "Off"},
        {"what": "power", "state": "On"},
        {"what": "boots", "from": "disc", "found": medium, "media": [medium]},
        {"what": "agent starts"},
    ]
    writing = [{**entry, **image} if entry["what"] == "image written" else entry for entry in GOOD[WRITING:]]
    return [*GOOD[: WRITING + 3], *boot, *writing]


def test_a_deployment_that_failed_is_tried_again_by_an_operation_with_a_medium_of_its_own(tmp_path: Path) -> None:
    assert check(written(tmp_path, again("b.iso"))) == []


@pytest.mark.parametrize(
    ("entries", "texts"),
    [
        (again("a.iso"), ["had not been erased", "2 images were written"]),
        (again("b.iso", sum="2"), ["had not been erased", "2 images were written"]),
        ([*GOOD, *again("b.iso")[WRITING + 3 :]], ["had not been erased", "2 images were written"]),
        (again("b.iso")[:4] + again("b.iso")[5:], ["had not been erased"]),
    ],
    ids=["the same operation", "another image", "an image that has run", "a disk that was not erased before"],
)
def test_what_only_looks_like_another_try_is_told(tmp_path: Path, entries: list[Entry], texts: list[str]) -> None:
    found = check(written(tmp_path, entries))
    assert len(found) == len(texts)
    assert all(text in one for text, one in zip(texts, found, strict=True)), found


def test_a_machine_that_was_cleaned_only_may_be_asked_for_no_image(tmp_path: Path) -> None:
    assert check(written(tmp_path, GOOD[:6]), images=0) == []


def test_a_history_keeps_little_in_memory_and_all_on_the_disk(tmp_path: Path) -> None:
    history = History(tmp_path / "node-1.jsonl", 0.0)
    for number in range(1000):
        history.add("heartbeat", number=number)
    assert len(history.last) <= 100
    assert len((tmp_path / "node-1.jsonl").read_text().splitlines()) == 1000


def test_the_command_line_tells_what_is_wrong_by_its_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path, changed("ejected", power="On"))
    assert main(["check-history", str(tmp_path)]) == 1
    assert "node-1: at 11.000 s a medium was ejected while the power was on" in capsys.readouterr().out


def test_the_command_line_says_nothing_of_clean_histories(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(tmp_path, GOOD)
    assert main(["check-history", str(tmp_path)]) == 0
    assert capsys.readouterr().out == ""

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

from rackwright_lab.marks import Marks


def marks_of(console: Path) -> list[tuple[float, str]]:
    lines = console.with_suffix(".marks").read_text().splitlines()
    return [(entry["at"], entry["mark"]) for entry in map(json.loads, lines)]


def test_what_the_console_shows_is_marked_with_the_time_it_was_seen(tmp_path: Path) -> None:
    console = tmp_path / "node-1.console"
    console.write_text("LAB-OS READY from an earlier boot\n")
    marks = Marks(console)
    said = [
        (10.0, "\n=== 9.90 power on, boot from Cd, media ['Cd']\n"),
        (14.0, "[    0.0] Linux version 6.1\n[    0.1] Linux version again\n"),
        (20.0, "RAMDISK 6.1 start\nRAMDISK 6.2 network\n"),
        (30.0, "INFO Starting ironic-python-agent vers"),
        (30.2, "ion: no\nINFO Starting ironic-python-agent version: 13.0.0\n"),
        (50.0, "\n=== 49.9 power cut\n"),
    ]
    for at, text in said:
        with console.open("a") as file:
            file.write(text)
        marks.look(at)
    expected = [(10.0, "firmware"), (14.0, "kernel"), (20.0, "ramdisk"), (30.2, "agent"), (50.0, "off")]
    assert marks_of(console) == expected


def test_a_quiet_console_leaves_no_marks(tmp_path: Path) -> None:
    console = tmp_path / "node-1.console"
    console.touch()
    Marks(console).look(1.0)
    assert not console.with_suffix(".marks").exists()


def test_a_console_that_was_emptied_is_read_on(tmp_path: Path) -> None:
    console = tmp_path / "node-1.console"
    console.write_text("a long text\n")
    marks = Marks(console)
    console.write_text("")
    marks.look(1.0)
    with console.open("a") as file:
        file.write("LAB-OS READY\n")
    marks.look(2.0)
    assert marks_of(console) == [(2.0, "ready")]

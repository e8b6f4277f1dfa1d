# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rackwright.domain.errors import Invalid
from rackwright.domain.verbs import Phase
from rackwright.engine.door import Door, DoorInvalid
from rackwright.engine.live import LiveRun


def answer(run: str, index: int | None, mark: str | None) -> dict[str, Any]:
    if run == "unknown":
        raise Invalid("No such run.")
    return {run: {"index": index, "mark": mark}}


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Path]:
    path = tmp_path / "door.sock"
    server = Door(path, answer)
    server.open()
    yield path
    server.shutdown()
    server.server_close()


def ask(path: Path, line: bytes) -> dict[str, Any]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(10)
        connection.connect(str(path))
        connection.sendall(line + b"\n")
        with connection.makefile("rb") as stream:
            told: dict[str, Any] = json.loads(stream.read())
            return told


def test_a_line_of_json_is_answered_and_the_connection_ends(door: Path) -> None:
    assert ask(door, b'{"run": "a"}') == {"nodes": {"a": {"index": None, "mark": None}}}
    assert ask(door, b'{"run": "a", "step": 2, "mark": "m"}') == {"nodes": {"a": {"index": 2, "mark": "m"}}}


@pytest.mark.parametrize("line", [b"", b"nonsense", b"[]", b"{}", b'{"run": "a", "step": "x"}', b'{"run": "unknown"}'])
def test_what_cannot_be_answered_is_told_so(door: Path, line: bytes) -> None:
    assert list(ask(door, line)) == ["error"]
    assert "nodes" in ask(door, b'{"run": "a"}'), "the door is still open"


def test_a_client_that_says_nothing_keeps_nobody_waiting(door: Path) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect(str(door))
        assert "nodes" in ask(door, b'{"run": "a"}')


def test_nobody_else_can_open_the_socket(door: Path) -> None:
    assert door.stat().st_mode & 0o777 == 0o600


def test_a_path_that_the_kernel_cannot_hold_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(DoorInvalid, match="state_dir"):
        Door(tmp_path / ("x" * 120), answer)


def test_a_socket_that_a_dead_conductor_left_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "door.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    server = Door(path, answer)
    server.server_close()


def test_an_answer_waits_until_the_lines_have_come_to_its_mark() -> None:
    run = LiveRun("run-1", Phase.DEPLOY, (), 0, {})
    assert not run.wait_for("m", 0.05)
    threading.Timer(0.05, run.reached, ["m"]).start()
    begun = time.monotonic()
    assert run.wait_for("m", 10)
    assert time.monotonic() - begun < 5

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from ansible_collections.rackwright.metal.plugins.plugin_utils._crew import serve


@pytest.fixture
def over() -> Iterator[threading.Event]:
    """Give an event that comes at the end of the test at the latest: what hangs waits for it."""
    event = threading.Event()
    yield event
    event.set()


def test_each_part_of_the_work_is_yielded_in_its_order() -> None:
    found = list(serve(lambda name: [f"{name}1", f"{name}2"], ["a", "b", "c"], hands=2))
    assert sorted(found) == [(name, f"{name}{part}") for name in "abc" for part in (1, 2)]
    assert [result for name, result in found if name == "b"] == ["b1", "b2"]


def test_who_hangs_in_a_part_that_half_of_the_others_have_done_has_fallen_behind(over: threading.Event) -> None:
    def work(name: str) -> Iterator[str]:
        yield "first"
        if name == "slow":
            over.wait(30)
        yield "second"

    began = time.monotonic()
    found = list(serve(work, ["quick", "quicker", "slow"], patience=0.2))
    assert time.monotonic() - began < 10
    assert found[-1] == ("slow", None)
    assert [result for name, result in found if name == "slow"] == ["first", None]
    assert found.count(("quick", "second")) == 1


def test_those_who_had_less_to_do_make_nobody_fall_behind() -> None:
    def work(name: str) -> Iterator[str]:
        yield "first"
        if name == "long":
            time.sleep(0.6)
            yield "second"

    assert ("long", "second") in list(serve(work, ["short", "shorter", "long"], patience=0.2))


def test_many_parts_may_together_take_longer_than_the_patience() -> None:
    def work(_name: str) -> Iterator[int]:
        for part in range(8):
            time.sleep(0.1)
            yield part

    assert len(list(serve(work, ["one", "two"], patience=0.3))) == 16

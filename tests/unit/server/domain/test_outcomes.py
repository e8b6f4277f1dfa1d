# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Reports of a run, and the text that a failure becomes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwright.domain.errors import Invalid
from rackwright.domain.outcomes import (
    TEXT_LIMIT,
    Behind,
    Done,
    Failed,
    Learned,
    Outcome,
    Report,
    Settled,
    Started,
    WaitFor,
    Waiting,
    cut,
    failure_text,
    parse,
    render,
)

NODE = "0b1c"


@pytest.mark.parametrize(
    ("keys", "outcome"),
    [
        ({"event": "start"}, Started()),
        ({"event": "facts", "facts": {"vendor": "Acme"}}, Learned({"vendor": "Acme"})),
        ({"event": "settled"}, Settled()),
        ({"event": "done", "facts": {"a": 1}}, Done({"a": 1})),
        ({"event": "waiting", "for": "agent", "seconds": None}, Waiting(WaitFor.AGENT)),
        ({"event": "waiting", "for": "inspection", "seconds": None}, Waiting(WaitFor.INSPECTION)),
        ({"event": "waiting", "for": "poll", "seconds": 2.5}, Waiting(WaitFor.POLL, 2.5)),
        (
            {"event": "failed", "cause": "disk full", "action": "Free space."},
            Failed("deploy.write_image", "disk full", "Free space."),
        ),
        (
            {"event": "failed", "cause": "no such light", "action": "Choose another.", "refused": True},
            Failed("deploy.write_image", "no such light", "Choose another.", refused=True),
        ),
        (
            {"event": "failed", "cause": "no answer", "action": "Look.", "kind": "silent"},
            Failed("deploy.write_image", "no answer", "Look.", kind="silent"),
        ),
        ({"event": "behind"}, Behind()),
    ],
)
def test_each_line_of_the_protocol_is_read_and_written(keys: dict[str, Any], outcome: Outcome) -> None:
    line = {"node": NODE, "step": 3, **keys}
    report = parse(line, step_name="deploy.write_image")
    assert report == Report(NODE, 3, outcome)
    assert render(report) == line


def test_optional_keys_may_be_absent() -> None:
    assert parse({"node": NODE, "step": 0, "event": "done"}).outcome == Done()
    assert parse({"node": NODE, "step": 0, "event": "waiting", "for": "agent"}).outcome == Waiting(WaitFor.AGENT)
    failed = parse({"node": NODE, "step": 0, "event": "failed", "cause": "x"}).outcome
    assert isinstance(failed, Failed) and failed.action


@pytest.mark.parametrize(
    "line",
    [
        {},
        {"node": NODE, "step": 1},
        {"node": NODE, "event": "start"},
        {"node": NODE, "step": "first", "event": "start"},
        {"node": NODE, "step": 1, "event": "dance"},
        {"node": NODE, "step": 1, "event": "waiting", "for": "godot"},
        {"node": NODE, "step": 1, "event": "waiting"},
        {"node": NODE, "step": 1, "event": "facts", "facts": 7},
        {"node": NODE, "step": 1, "event": "failed"},
    ],
)
def test_a_line_without_sense_is_refused(line: dict[str, Any]) -> None:
    with pytest.raises(Invalid, match="report of the run cannot be read"):
        parse(line)


def test_a_failure_text_says_step_cause_and_next_action() -> None:
    text = failure_text("clean.erase", "disk sda is frozen.", "Power the node off and clean it again.")
    assert text == "Step clean.erase failed: disk sda is frozen. Power the node off and clean it again."


def test_a_failure_text_without_an_action_still_says_what_to_do() -> None:
    assert failure_text("clean.erase", "").startswith("Step clean.erase failed: no cause was given. Correct")


def test_a_huge_failure_text_keeps_head_tail_and_action_within_the_limit() -> None:
    cause = "HEAD" + "é€𝄞\0" * 40_000 + "TAIL"
    text = failure_text("raid.create_configuration", cause, "Replace the controller.")
    assert len(text.encode()) <= TEXT_LIMIT
    assert text.startswith("Step raid.create_configuration failed: HEADé€𝄞")
    assert text.endswith("TAIL. Replace the controller.")
    assert "[...]" in text and "\0" not in text


@given(st.text(), st.text(), st.text(), st.integers(min_value=40, max_value=400))
def test_any_failure_text_is_clean_utf_8_within_its_limit(step: str, cause: str, action: str, limit: int) -> None:
    text = failure_text(step, cause, action, limit=limit)
    assert len(text.encode()) <= limit
    assert not any(ord(char) < 32 and char not in "\n\t" for char in text)


@given(st.text(), st.integers(min_value=0, max_value=200))
def test_cut_keeps_short_texts_and_shortens_long_ones_between_characters(text: str, limit: int) -> None:
    short = cut(text, limit)
    assert len(short.encode()) <= limit
    assert cut(short, limit) == short.strip()


def test_cut_takes_out_what_databases_refuse() -> None:
    assert cut("a\0b\x1b[31mc\x85d\ud800e\nf\tg", 100) == "ab[31mcde\nf\tg"

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What a playbook run tells about one node and one step, as types, and the text that a failure becomes.

A run prints lines ``@node [{json}, ...]``, with the events that came about together. The keys of each are ``node``
(UUID), ``step`` (position in the operation's list), ``event`` and those of the event:

========  ========================================  ==========================================================
event     further keys                              type
========  ========================================  ==========================================================
start                                               Started
facts     facts (object)                            Learned: found out, the step goes on
settled                                             Settled: this step was done already for this node
done      facts (object)                            Done
waiting   for (agent, inspection, poll), seconds    Waiting: the node leaves the run
failed    cause, action, refused (boolean), kind    Failed: the node leaves the run
behind                                              Behind: slower than its wave, goes on in a run of its own
========  ========================================  ==========================================================
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from rackwright.domain.errors import Invalid

TEXT_LIMIT = 4096
"""Longest failure text, in bytes of UTF-8."""

_GAP = " [...] "
_NO_ACTION = "Correct the cause and repeat the operation."


class WaitFor(StrEnum):
    """What makes a waiting node ready again."""

    AGENT = "agent"
    INSPECTION = "inspection"
    POLL = "poll"
    CHILDREN = "children"
    """The child nodes, which take a step for this one; only the engine waits for them."""


@dataclass(frozen=True, slots=True)
class Started:
    """The step began."""


@dataclass(frozen=True, slots=True)
class Learned:
    """The step found something out and goes on."""

    facts: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Settled:
    """The step had nothing to do for this node."""


@dataclass(frozen=True, slots=True)
class Done:
    """The step ended well."""

    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Waiting:
    """The step must wait; it is run again from its start when the wait is over."""

    reason: WaitFor
    seconds: float | None = None  # poll: time until the next look; None = the engine's default


@dataclass(frozen=True, slots=True)
class Failed:
    """The step failed."""

    step: str  # "interface.name"; "" where the reader of the line has to name it
    cause: str
    action: str = _NO_ACTION
    refused: bool = False
    """The node does not offer what was asked for; asking again is of no use."""
    kind: str = ""
    """In a word what kind of error of a BMC it is, as ``unreachable``; empty for all other failures."""


@dataclass(frozen=True, slots=True)
class Behind:
    """The node is slower than its wave and goes on alone."""


Outcome = Started | Learned | Settled | Done | Waiting | Failed | Behind


@dataclass(frozen=True, slots=True)
class Report:
    """One line of a run."""

    node: str
    step: int
    outcome: Outcome


def parse(line: Mapping[str, Any], *, step_name: str = "") -> Report:
    """Read one line; ``step_name`` names the step in a Failed. Raise Invalid when the line makes no sense."""
    try:
        return Report(str(line["node"]), int(line["step"]), _outcome(line, step_name))
    except (KeyError, TypeError, ValueError) as error:
        raise Invalid(f"A report of the run cannot be read ({error!r}); its keys are {sorted(line)}.") from error


def _outcome(line: Mapping[str, Any], step_name: str) -> Outcome:
    match line["event"]:
        case "start":
            return Started()
        case "facts":
            return Learned(dict(line["facts"]))
        case "settled":
            return Settled()
        case "done":
            return Done(dict(line.get("facts") or {}))
        case "waiting":
            seconds = line.get("seconds")
            return Waiting(WaitFor(line["for"]), None if seconds is None else float(seconds))
        case "failed":
            refused = line.get("refused") is True
            kind = str(line.get("kind") or "")
            return Failed(step_name, str(line["cause"]), str(line.get("action") or _NO_ACTION), refused, kind)
        case "behind":
            return Behind()
        case other:
            raise ValueError(f"unknown event {other!r}")


def render(report: Report) -> dict[str, Any]:
    """Write a report as the line that ``parse`` reads."""
    return {"node": report.node, "step": report.step, **_keys(report.outcome)}


def _keys(outcome: Outcome) -> dict[str, Any]:
    match outcome:
        case Started():
            return {"event": "start"}
        case Learned(facts):
            return {"event": "facts", "facts": facts}
        case Settled():
            return {"event": "settled"}
        case Done(facts):
            return {"event": "done", "facts": facts}
        case Waiting(reason, seconds):
            return {"event": "waiting", "for": reason.value, "seconds": seconds}
        case Failed(_, cause, action, refused, kind):
            more = ({"refused": True} if refused else {}) | ({"kind": kind} if kind else {})
            return {"event": "failed", "cause": cause, "action": action, **more}
        case Behind():
            return {"event": "behind"}


def failure_text(step: str, cause: str, action: str = "", *, limit: int = TEXT_LIMIT) -> str:
    """Compose last_error: which step, why, and what to do next; at most ``limit`` bytes of UTF-8.

    A long cause loses its middle: the head says what failed and the tail mostly says why.
    """
    head = f"Step {_clean(step)} failed: "
    tail = " " + cut(_clean(action) or _NO_ACTION, limit // 4)
    cause = _clean(cause).rstrip(".") or "no cause was given"
    room = limit - len(head.encode()) - len(tail.encode()) - 1
    return cut(head + cut(cause, max(room, 0)) + "." + tail, limit)


def cut(text: str, limit: int) -> str:
    """Shorten ``text`` to ``limit`` bytes of UTF-8 by dropping its middle, never a part of a character.

    Control characters other than newline and tab, and halves of surrogate pairs, are taken out: databases refuse them.
    """
    data = _clean(text).encode()
    if len(data) <= limit:
        return data.decode()
    room = limit - len(_GAP)
    if room < 2:
        return data[: max(limit, 0)].decode(errors="ignore")
    first = (room + 1) // 2
    return data[:first].decode(errors="ignore") + _GAP + data[-(room - first) :].decode(errors="ignore")


def _clean(text: str) -> str:
    return "".join(char for char in text if char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cs")).strip()

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What a client found, and what of it was to be expected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

import yaml

from tests.conformance.servers import RACKS, Kind, Place, Server

Outcome = Literal["passed", "failed", "skipped"]
KNOWN = Path(__file__).parent / "known.yml"


@dataclass(frozen=True)
class Check:
    """One thing that a client tried."""

    name: str
    outcome: Outcome
    text: str = ""


@dataclass(frozen=True)
class Known:
    """What does not pass on a real Ironic 39 either: a pattern of names, and why."""

    check: str
    outcome: Outcome
    reason: str


@dataclass(frozen=True)
class Peer:
    """A client: its name for people, how it is run, and where the server stands that it is run against."""

    title: str
    run: Callable[[Server], Iterable[Check]]
    place: Place = "alone"

    def is_for(self, kind: Kind) -> bool:
        """Whether it is run against that kind of server: a real Ironic is not set up for the rack."""
        return kind == "rackwright" or self.place not in RACKS


@dataclass(frozen=True)
class Verdict:
    """The checks of one client, sorted by what they mean."""

    peer: str
    passed: list[Check] = field(default_factory=list)
    known: list[Check] = field(default_factory=list)
    wrong: list[Check] = field(default_factory=list)
    better: list[Check] = field(default_factory=list)
    missing: int = 0

    @property
    def is_good(self) -> bool:
        """Whether all that had to pass was tried and has passed."""
        return not self.wrong and not self.missing


def judge(peer: str, checks: Iterable[Check], *, file: Path = KNOWN) -> Verdict:
    """Compare with what is known of a real Ironic; a check that is not there any more is as bad as one that fails."""
    told = yaml.safe_load(file.read_text())[peer]
    known = [Known(**one) for one in told.get("not_passing", ())]
    verdict = Verdict(peer, missing=0)
    count = 0
    for check in checks:
        count += 1
        expected = any(one.outcome == check.outcome and fnmatchcase(check.name, one.check) for one in known)
        if check.outcome != "passed":
            (verdict.known if expected else verdict.wrong).append(check)
        else:
            listed = any(fnmatchcase(check.name, one.check) for one in known)
            (verdict.better if listed else verdict.passed).append(check)
    return Verdict(peer, verdict.passed, verdict.known, verdict.wrong, verdict.better, max(told["checks"] - count, 0))


def attempted(checks: Sequence[tuple[str, Callable[[], None]]]) -> Iterator[Check]:
    """Try one after the other; an assertion or error of one does not keep the rest from being tried."""
    for name, attempt in checks:
        try:
            attempt()
        except Exception as error:
            yield Check(name, "failed", f"{type(error).__name__}: {error}")
        else:
            yield Check(name, "passed")

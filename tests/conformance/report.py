# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The table of results in the documentation, written by a run of all clients."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.conformance.checks import Verdict

PAGE = Path(__file__).parents[2] / "docs/howto/conformance.md"
BEGIN, END = "<!-- results: written by `make conformance` -->\n", "<!-- end of results -->\n"
HEAD = "| client | checks | pass | not passing on Ironic 39 either | pass here, not on Ironic 39 | wrong |\n"


def write(verdicts: Iterable[tuple[str, Verdict]]) -> None:
    """Put the results, each with its client's title, where the page keeps its table."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    rows = "".join(_row(title, verdict) for title, verdict in verdicts)
    PAGE.write_text(f"{before}{BEGIN}\n{HEAD}|---|---|---|---|---|---|\n{rows}\n{END}{after}")


def _row(title: str, verdict: Verdict) -> str:
    better, passed = len(verdict.better), len(verdict.passed) + len(verdict.better)
    known, wrong = len(verdict.known), len(verdict.wrong) + verdict.missing
    return f"| {title} | {passed + known + wrong} | {passed} | {known} | {better} | {wrong} |\n"

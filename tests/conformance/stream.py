# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Tell in JSON lines what tests a subunit stream on standard input tells of, in the environment that wrote it."""

from __future__ import annotations

import json
import sys
from typing import Any

import subunit
import testtools

OUTCOMES = {"success": "passed", "skip": "skipped"}


def tell(test: dict[str, Any]) -> None:
    """Print one test: its name, its outcome and the last line of why."""
    details = {name: content.as_text().strip() for name, content in test["details"].items()}
    text = details.get("reason") or details.get("traceback") or ""
    outcome = OUTCOMES.get(test["status"], "failed")
    last = text.rpartition("\n")[2]
    sys.stdout.write(json.dumps({"name": test["id"], "outcome": outcome, "text": last}) + "\n")


stream = subunit.ByteStreamToStreamResult(sys.stdin.buffer, non_subunit_name="output")
sink = testtools.StreamToDict(tell)
sink.startTestRun()
stream.run(sink)
sink.stopTestRun()

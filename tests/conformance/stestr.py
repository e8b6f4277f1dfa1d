# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Run tests that OpenStack projects carry in their own packages, with the runner that those projects use."""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.conformance.checks import Check, Outcome

OUTCOMES: dict[str, Outcome] = {"success": "passed", "skip": "skipped", "xfail": "failed", "fail": "failed"}


def run_tests(programs: Path, package: str, *, folder: Path, environment: Mapping[str, str]) -> Iterator[Check]:
    """Run the tests below ``package``, a folder in the environment's site-packages, one after the other."""
    (site,) = programs.parent.glob("lib/python*/site-packages")
    shutil.rmtree(folder / ".stestr", ignore_errors=True)
    runner = [str(programs / "stestr"), "--test-path", str(site / package), "--top-dir", str(site)]
    variables = os.environ | environment | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    log = folder / "tests.log"
    with log.open("wb") as out:
        subprocess.run([*runner, "run", "--serial"], cwd=folder, env=variables, stdout=out, stderr=out)
    stream = (folder / ".stestr/0").read_bytes()
    convert = [str(programs / "python"), str(programs / "subunit2csv"), "--no-passthrough"]
    table = subprocess.run(convert, input=stream, check=True, capture_output=True).stdout.decode()
    for row in csv.DictReader(io.StringIO(table)):
        yield Check(row["test"], OUTCOMES[row["status"]], f"see {log}")

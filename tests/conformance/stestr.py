# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Run tests that OpenStack projects carry in their own packages, with the runner that those projects use."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.conformance.checks import Check

STREAM = Path(__file__).with_name("stream.py")


def run_tests(programs: Path, package: str, *, folder: Path, environment: Mapping[str, str]) -> Iterator[Check]:
    """Run the tests below ``package``, a folder in the environment's site-packages, one after the other."""
    (site,) = programs.parent.glob("lib/python*/site-packages")
    shutil.rmtree(folder / ".stestr", ignore_errors=True)
    runner = [str(programs / "stestr"), "--test-path", str(site / package), "--top-dir", str(site)]
    variables = os.environ | environment | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    log = folder / "tests.log"
    with log.open("wb") as out:
        subprocess.run([*runner, "run", "--serial"], cwd=folder, env=variables, stdout=out, stderr=out)
    last = subprocess.run([*runner, "last", "--subunit"], cwd=folder, env=variables, stdout=subprocess.PIPE).stdout
    reader = [str(programs / "python"), str(STREAM)]
    told = subprocess.run(reader, input=last, check=True, stdout=subprocess.PIPE).stdout
    for line in told.splitlines():
        yield Check(**json.loads(line))

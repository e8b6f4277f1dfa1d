# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Programs of the system, run to their end."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from rackwright_lab.errors import LabError

SYSTEM_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def run(*command: str | Path, env: Mapping[str, str] | None = None, directory: Path | None = None) -> str:
    """Run a program and return what it wrote to standard output, without surrounding white space.

    ``env`` is added to the environment of this process.

    Raises:
        LabError: the program is missing or ended with another status than 0.
    """
    try:
        done = subprocess.run(
            [str(word) for word in command],
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            cwd=directory,
            env={**os.environ, **(env or {})},
        )
    except FileNotFoundError as error:
        raise LabError(
            f"Could not run {command[0]}: it is not installed. Install the packages that packages.txt names."
        ) from error
    if done.returncode:
        text = done.stderr.strip() or done.stdout.strip() or "it gave no reason"
        line = " ".join(str(word) for word in command)
        raise LabError(f"Could not run `{line}`: it ended with status {done.returncode}: {text}")
    return done.stdout.strip()


def find_program(name: str) -> Path:
    """Return the path of a program of the system, whatever virtual environment is active.

    Raises:
        LabError: there is no such program.
    """
    path = shutil.which(name, path=SYSTEM_PATH)
    if path is None:
        raise LabError(f"The program {name} is missing. Install the packages that packages.txt names.")
    return Path(path)

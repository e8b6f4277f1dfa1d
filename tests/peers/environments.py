# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The virtual environments of the programs that we are measured against or by, each pinned in a file beside this one.

``<name>.in`` says what is wanted; ``<name>.txt`` pins it and all that it needs (``nox -s pin``). An environment is
kept in ``.nox/peers/<name>`` and made anew when its pins change.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
CACHE = HERE.parents[1] / ".nox/peers"


def environment(name: str) -> Path:
    """Return the folder of the programs of one peer's environment; install it if it is missing or old."""
    pins, home = HERE / f"{name}.txt", CACHE / name
    filled = home / "pins.txt"
    if not filled.is_file() or filled.read_text() != pins.read_text():
        uv = shutil.which("uv", path=Path(sys.executable).parent) or "uv"
        subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(home)], check=True)
        install = [uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", str(home / "bin/python")]
        subprocess.run([*install, "--requirement", str(pins)], check=True)
        shutil.copy(pins, filled)
    return home / "bin"

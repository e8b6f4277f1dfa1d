# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What the tests of the tree look at: the files that git would keep."""

import ast
import functools
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[3]


@functools.cache
def kept(*patterns: str) -> tuple[str, ...]:
    """Return the paths that match, relative to the root, tracked or about to be."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate", "--", *patterns]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return tuple(sorted(path for path in listed.split("\0") if path and (ROOT / path).exists()))


def text(path: str | Path) -> str:
    return (ROOT / path).read_text()


def load(path: str | Path) -> Any:
    return yaml.safe_load(text(path))


def parse(path: str | Path) -> ast.Module:
    return ast.parse(text(path), str(path))


def imports(path: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the absolute name of each module that a file imports."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.lineno, node.module


def constant(path: str, name: str) -> str | None:
    """Return the text of a module's top-level constant, None where it has none."""
    for node in parse(path).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == [name]:
            return str(ast.literal_eval(node.value))
    return None

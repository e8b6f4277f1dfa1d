# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Files that others read while they are written."""

from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a reader finds all of it or nothing."""
    new = path.with_name(path.name + ".new")
    new.write_text(text)
    new.replace(path)

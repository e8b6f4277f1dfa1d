# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the daemon offers a file of its own host to the agent of an operation."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._image import Place


def place(context: dict[str, Any]) -> Place:
    """Return the place of an operation's image: its name is the operation's UUID, which nobody can guess."""
    deploy, name = context["deploy"], PurePosixPath(context["boot"]["file"]).stem
    path, url = Path(deploy["image_dir"]) / name, f"{deploy['image_url'].rstrip('/')}/{name}"
    return Place(path, url, list(deploy["allowed_paths"]))

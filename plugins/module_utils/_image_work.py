# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the modules image and config_drive do: from their options to their answers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._config_drive import PARTS, ready, unpack
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.plugins.module_utils._image import Place, prepare, withdraw

Data = dict[str, Any]

DRIVE_OPTIONS: Data = {
    "dest": {"type": "path"},
    "meta_data": {"type": "dict"},
    "user_data": {"type": "str"},
    "network_data": {"type": "dict"},
    "vendor_data": {"type": "dict"},
    "uuid": {"type": "str"},
    "name": {"type": "str"},
}


def image(params: Data, check_mode: bool) -> Data:
    """Check an image and offer it, or take it away."""
    path = Path(params["dest"]) if params["dest"] else None
    if params["state"] == "absent":
        there = path is not None and path.exists()
        return {"changed": there if check_mode else withdraw(path)}
    instance_info = {
        "image_source": params["source"],
        "image_disk_format": params["disk_format"],
        "image_checksum": params["checksum"],
        "image_os_hash_algo": params["os_hash_algo"],
        "image_os_hash_value": params["os_hash_value"],
    }
    place = Place(path, params["dest_url"], params["allowed_paths"])
    found = prepare(instance_info, place, check_mode=check_mode)
    return {"changed": found.changed, "image": found.facts(), "url": place.url if found.local else params["source"]}


def config_drive(params: Data, check_mode: bool) -> Data:
    """Make a config drive and write it, as the agent and the API take it, to a file that only we can read."""
    parts = {key: params[key] for key in PARTS if params[key] is not None}
    text = ready(parts, {"uuid": params["uuid"], "name": params["name"]}) or ""
    dest = Path(params["dest"]) if params["dest"] else None
    # Drives hold the time at which they were made, so what is in them is compared.
    changed = dest is not None and bool(text) and unpack(text) != unpack(_read(dest))
    if dest is not None and changed and not check_mode:
        _write(dest, text)
    return {"changed": changed, "size": len(text)}


def _read(dest: Path) -> str:
    try:
        return dest.read_text(encoding="ascii") if dest.exists() else ""
    except (OSError, UnicodeDecodeError):
        return ""


def _write(dest: Path, text: str) -> None:
    try:
        descriptor = os.open(dest, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(text)
    except OSError as error:
        raise OperationError("write the config drive", str(error), "Give a dest in a folder that exists.") from error

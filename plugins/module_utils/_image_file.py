# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images in files of this host: how they are checked, and how the agent gets them."""

from __future__ import annotations

import hashlib
import os
import shutil
from io import BufferedReader
from pathlib import Path

from ansible_collections.rackwright.metal.plugins.module_utils._checksums import Checksum
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError


def size_of(stream: BufferedReader) -> int:
    """Return the size of an open file in bytes."""
    return os.fstat(stream.fileno()).st_size


def verify(stream: BufferedReader, checksum: Checksum, image: str) -> None:
    """Raise OperationError unless the content of an open file amounts to the checksum."""
    stream.seek(0)
    found = hashlib.file_digest(stream, checksum.algorithm).hexdigest()
    if found != checksum.value:
        raise OperationError(
            f"check image {image}",
            f"its {checksum.algorithm} is {found}, but {checksum.value} was wanted",
            "Copy the image again, or correct the checksum in instance_info.",
        )


def publish(stream: BufferedReader, target: Path, *, check_mode: bool = False) -> bool:
    """Make the content of an open file available at ``target``, as a hard link where possible, else as a copy.

    Return whether that changes anything; in check mode nothing is changed.
    """
    source = os.fstat(stream.fileno())
    if target.exists() and os.path.samestat(source, target.stat()):
        return False
    if check_mode:
        return True
    part = target.with_name(f".{target.name}.part")
    part.unlink(missing_ok=True)
    try:
        # Links are followed only where a folder's descriptor is given, which an absolute path ignores.
        os.link(f"/proc/self/fd/{stream.fileno()}", part, src_dir_fd=stream.fileno())
    except OSError:
        stream.seek(0)
        with part.open("xb") as copy:
            shutil.copyfileobj(stream, copy, 1 << 20)
    part.replace(target)
    return True

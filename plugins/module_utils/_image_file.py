# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Images in files of this host: how they are checked, and how the agent gets them."""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from io import BufferedReader
from pathlib import Path

from ansible_collections.rackwright.metal.plugins.module_utils._checksums import Checksum
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError

_READING = threading.Lock()
_digests: dict[tuple[int | str, ...], str] = {}
"""By what tells a file and its state from others, and algorithm; it lives as long as a task."""


def size_of(stream: BufferedReader) -> int:
    """Return the size of an open file in bytes."""
    return os.fstat(stream.fileno()).st_size


def verify(stream: BufferedReader, checksum: Checksum, image: str) -> None:
    """Raise OperationError unless the content of an open file amounts to the checksum."""
    found = _digest(stream, checksum.algorithm)
    if found != checksum.value:
        raise OperationError(
            f"check image {image}",
            f"its {checksum.algorithm} is {found}, but {checksum.value} was wanted",
            "Copy the image again, or correct the checksum in instance_info.",
        )


def _digest(stream: BufferedReader, algorithm: str) -> str:
    """Return the digest of an open file's content; the nodes of a wave share what it takes to read it."""
    state = os.fstat(stream.fileno())
    key = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, algorithm)
    with _READING:
        if key not in _digests:
            stream.seek(0)
            _digests[key] = hashlib.file_digest(stream, algorithm).hexdigest()
        return _digests[key]


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

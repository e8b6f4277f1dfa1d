# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of this host that a ``file://`` URL names: which ones may be used.

Only regular files below the allowed folders are opened, after all links and dots are resolved; whoever asks for another
learns nothing about it, not even whether it exists. Source: field cases of OSSA-2025-001 and CVE-2026-44919.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError


@contextmanager
def opened(url: str, allowed: Sequence[str]) -> Iterator[BufferedReader]:
    """Open the file that a ``file://`` URL names, read-only; raise OperationError unless it is allowed."""
    path = _resolved(url)
    roots = [Path(root).resolve() for root in allowed]
    if path is None or not any(path.is_relative_to(root) for root in roots):
        raise _refused(url, allowed)
    try:
        # Not blocking: a named pipe would hold us until somebody writes to it.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _refused(url, allowed) from error
    try:
        # A part of the path may have become a link since it was resolved, so the open file counts.
        real = Path(f"/proc/self/fd/{descriptor}").readlink()
        if not stat.S_ISREG(os.fstat(descriptor).st_mode) or not any(real.is_relative_to(root) for root in roots):
            raise _refused(url, allowed)
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            yield stream
    finally:
        os.close(descriptor)


def _resolved(url: str) -> Path | None:
    parts = urlsplit(url)
    path = unquote(parts.path)
    if parts.netloc not in ("", "localhost") or parts.query or "\0" in path or not path.startswith("/"):
        return None
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError):
        return None


def _refused(url: str, allowed: Sequence[str]) -> OperationError:
    return OperationError(
        f"open {url}",
        f"it is no regular file that can be read in one of the allowed folders ({', '.join(allowed) or 'none is set'})",
        "Put it into an allowed folder, or let the operator allow its folder in the daemon's settings.",
    )

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that many machines are booted with, kept after the first download.

A file stays under a name made of its URL and of what the server says identifies its content (ETag or date, and size).
So one that has changed is another file, and nothing that is being read is ever written to.
"""

from __future__ import annotations

import fcntl
import filecmp
import hashlib
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ansible_collections.rackwright.metal.plugins.module_utils._download import opened, shown
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError


def fetch(url: str, folder: Path, *, allowed: Sequence[str] | None = None) -> Path:
    """Return a local copy of what is at ``url`` (http, https or file).

    A file URL is taken where it is, if that is in one of the ``allowed`` folders (None = anywhere).
    Raise OperationError.
    """
    if urlsplit(url).scheme == "file":
        return _local(url, allowed)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = _digest(url)
    with _locked(folder / f"{name}.lock"), closing(opened(url)) as answer:
        identity = [answer.headers.get(key) or "" for key in ("ETag", "Last-Modified", "Content-Length")]
        file = folder / f"{name}-{_digest(*identity)}"
        if not file.exists() or not any(identity[:2]):
            _save(answer, file, url)
            for old in folder.glob(f"{name}-*"):
                if old != file:
                    old.unlink()
    return file


def _save(answer: Any, file: Path, url: str) -> None:
    part = file.with_name(file.name.partition("-")[0] + ".part")
    try:
        with part.open("wb") as target:
            shutil.copyfileobj(answer, target, 1 << 20)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OperationError(f"download {shown(url)}", str(error), "Check network and disk space.") from error
    size, told = part.stat().st_size, answer.headers.get("Content-Length")
    if told is not None and size != int(told):
        part.unlink()
        raise OperationError(
            f"download {shown(url)}", f"Only {size} of {told} bytes came.", "Check the server of that URL; try again."
        )
    if file.exists() and filecmp.cmp(part, file, shallow=False):
        part.unlink()
    else:
        part.rename(file)


def _local(url: str, allowed: Sequence[str] | None) -> Path:
    file = Path(unquote(urlsplit(url).path)).resolve()
    if allowed is not None and not any(file.is_relative_to(Path(folder).resolve()) for folder in allowed):
        raise OperationError(
            f"read {url}",
            "It does not lie in a folder from which files may be taken.",
            f"Put it into one of: {', '.join(allowed) or 'none is set'}.",
        )
    if not file.is_file():
        raise OperationError(f"read {url}", "There is no such file on this host.", "Correct the URL.")
    return file


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Let only one process or thread at a time download the same URL."""
    with file.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()

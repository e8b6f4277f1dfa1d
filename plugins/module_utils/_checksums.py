# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checksums of images: as text, or as the URL of a file of checksums in one of the usual forms.

Source: contract/engine.md section 5 (instance_info), contract/agent-protocol.md, "write_image".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

from ansible_collections.rackwright.metal.plugins.module_utils._allowed_file import opened
from ansible_collections.rackwright.metal.plugins.module_utils._download import body, shown
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError

LENGTHS = {64: "sha256", 96: "sha384", 128: "sha512"}
"""Algorithm by the number of hexadecimal digits of its value."""

WEAK = {32: "md5", 40: "sha1"}
FILE_LIMIT = 1 << 20
"""Bytes of a file of checksums that are read at most."""

_GIVE = "Set image_os_hash_algo and image_os_hash_value (sha256, sha384, sha512), or image_checksum, in instance_info."
_HEX = re.compile(r"[0-9A-Fa-f]{32,128}")
_GNU = re.compile(r"\\?([0-9A-Fa-f]{32,128})(?: [ *](.+))?")
_BSD = re.compile(r"[A-Za-z0-9-]+ ?\((.+)\) ?= ?([0-9A-Fa-f]{32,128})")


@dataclass(frozen=True)
class Checksum:
    """What the content of an image must amount to; ``value`` is lower-case hexadecimal."""

    algorithm: str
    value: str


def wanted(instance_info: Mapping[str, Any], image: str, allowed: Sequence[str] = ()) -> Checksum:
    """Return the checksum that instance_info gives for an image file, read from its URL where it is one.

    ``image`` is the file name of the image; ``file://`` URLs are read below the allowed folders. Raise
    OperationError when there is none that can be used.
    """
    algorithm = str(instance_info.get("image_os_hash_algo") or "").lower().replace("-", "")
    value = str(instance_info.get("image_os_hash_value") or instance_info.get("image_checksum") or "").strip()
    if not value:
        raise _unusable(image, "the image has no checksum, so nobody could tell whether it arrived whole", _GIVE)
    if urlsplit(value).scheme in ("http", "https", "file"):
        listed = _listing(value, allowed).decode("utf-8", "replace")
        return choose(listed, image, algorithm=algorithm, origin=shown(value))
    return _checked(value, image, algorithm)


def _listing(url: str, allowed: Sequence[str]) -> bytes:
    if urlsplit(url).scheme != "file":
        return body(url, FILE_LIMIT)
    with opened(url, allowed) as stream:
        return stream.read(FILE_LIMIT)


def choose(listed: str, image: str, *, algorithm: str = "", origin: str = "") -> Checksum:
    """Return the checksum of an image out of the text of a checksum file, in the form of GNU or of BSD tools.

    Of several for the same file the longest counts. A file with a single entry belongs to the image whatever it names.
    """
    entries = [entry for line in listed.splitlines() if (entry := _entry(line.strip()))]
    mine = entries if len(entries) == 1 else [entry for entry in entries if entry[0] == image]
    fitting = [value for _name, value in mine if not algorithm or LENGTHS.get(len(value)) == algorithm]
    if not fitting:
        names = ", ".join(sorted({name or "(no name)" for name, _value in entries})[:5]) or "nothing"
        cause = f"{origin} has no {algorithm or 'checksum'} line for {image}; it names {names}"
        raise _unusable(image, cause, "Point at the checksum file that belongs to the image, or give the value itself.")
    return _checked(max(fitting, key=len), image, algorithm)


def _entry(line: str) -> tuple[str, str] | None:
    """Return file name (empty when the line has none) and value."""
    if found := _BSD.fullmatch(line):
        return _base(found[1]), found[2]
    if found := _GNU.fullmatch(line):
        return _base(found[2] or ""), found[1]
    return None


def _base(name: str) -> str:
    return name.strip().rpartition("/")[2]


def _checked(value: str, image: str, algorithm: str) -> Checksum:
    if not _HEX.fullmatch(value) or len(value) not in {**LENGTHS, **WEAK}:
        raise _unusable(image, "its checksum is neither a URL nor a hexadecimal value of a known length", _GIVE)
    if len(value) in WEAK:
        raise _unusable(image, f"its checksum is {WEAK[len(value)]}, which proves nothing any more", _GIVE)
    if algorithm and LENGTHS[len(value)] != algorithm:
        cause = f"image_os_hash_algo is {algorithm}, but the value has the length of {LENGTHS[len(value)]}"
        raise _unusable(image, cause, _GIVE)
    return Checksum(LENGTHS[len(value)], value.lower())


def _unusable(image: str, cause: str, action: str) -> OperationError:
    return OperationError(f"find the checksum of image {image}", cause, action)


def file_name(url: str) -> str:
    """Return the last part of a URL's path, decoded."""
    return unquote(urlsplit(url).path).rpartition("/")[2]

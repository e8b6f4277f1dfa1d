# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check an instance image before any machine is touched, and make it ready for the agent.

The agent downloads an image from http or https itself. A file of this host is checked here and offered by the daemon
under a name that cannot be guessed. What an image is, is decided by its first bytes, never by its name or by a claim.
Source: contract/engine.md section 5, contract/agent-protocol.md "write_image".
"""

from __future__ import annotations

import io
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from ansible_collections.rackwright.metal.plugins.module_utils._allowed_file import opened
from ansible_collections.rackwright.metal.plugins.module_utils._checksums import Checksum, file_name, wanted
from ansible_collections.rackwright.metal.plugins.module_utils._download import head, shown
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError
from ansible_collections.rackwright.metal.plugins.module_utils._image_file import publish, size_of, verify

try:
    from oslo_utils.imageutils import format_inspector
except ImportError:
    INSPECTOR_MISSING: str | None = traceback.format_exc()
else:
    INSPECTOR_MISSING = None

INSPECTED = 128 << 10
"""Bytes of an image that are looked at; the identifying marks of every format lie within them."""

FORMATS = ("raw", "qcow2", "iso")
"""What the agent may be given; an image of partitions is a raw one."""

IMAGE_OPTIONS: dict[str, dict[str, Any]] = {
    "source": {"type": "str"},
    "disk_format": {"type": "str"},
    "checksum": {"type": "str"},
    "os_hash_algo": {"type": "str"},
    "os_hash_value": {"type": "str"},
    "allowed_paths": {"type": "list", "elements": "path", "default": []},
    "dest": {"type": "path"},
    "dest_url": {"type": "str"},
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
}


@dataclass(frozen=True)
class Place:
    """Where a file of this host is offered to agents: ``path`` and ``url``; and the folders it may come from."""

    path: Path | None = None
    url: str | None = None
    allowed: Sequence[str] = ()


@dataclass(frozen=True)
class Image:
    """An image that may be written; sizes in bytes, None where the server does not tell. Holds no secret."""

    id: str
    disk_format: str
    os_hash_algo: str
    os_hash_value: str
    size: int | None
    virtual_size: int | None
    local: bool = False
    changed: bool = field(default=False, compare=False)

    def facts(self) -> dict[str, Any]:
        """Return the image as plain data, for later steps."""
        data = asdict(self)
        del data["changed"]
        return data


@dataclass(frozen=True)
class Content:
    """What the first bytes of an image tell."""

    disk_format: str
    virtual_size: int | None


def prepare(instance_info: Mapping[str, Any], place: Place, *, check_mode: bool = False) -> Image:
    """Check the image that instance_info names, offer it when it is a file, and return what it is.

    Raise OperationError when it is missing, unreadable, not what it is said to be, or of a kind that cannot be written.
    """
    source = str(instance_info.get("image_source") or "")
    scheme = urlsplit(source).scheme
    _refuse_unsupported(source, scheme, instance_info)
    return _ACCEPTED[scheme](source, instance_info, place, check_mode)


def _remote(source: str, instance_info: Mapping[str, Any], place: Place, _check_mode: bool) -> Image:
    first = head(source, INSPECTED)
    content = inspect(io.BytesIO(first.content), first.size, shown(source), claimed(instance_info))
    checksum = wanted(instance_info, file_name(source), place.allowed)
    return _image(source, content, checksum, size=first.size)


def _local(source: str, instance_info: Mapping[str, Any], place: Place, check_mode: bool) -> Image:
    if place.path is None or place.url is None:
        raise OperationError(
            f"offer {source} to the agent",
            "there is no folder that agents can download from",
            "Give dest and dest_url.",
        )
    with opened(source, place.allowed) as stream:
        size = size_of(stream)
        content = inspect(stream, size, source, claimed(instance_info))
        checksum = wanted(instance_info, file_name(source), place.allowed)
        verify(stream, checksum, source)
        changed = publish(stream, place.path, check_mode=check_mode)
    return _image(source, content, checksum, size=size, local=True, changed=changed)


_ACCEPTED: dict[str, Callable[[str, Mapping[str, Any], Place, bool], Image]] = {
    "http": _remote,
    "https": _remote,
    "file": _local,
}


def withdraw(path: Path | None) -> bool:
    """Remove the file that was offered to the agent; return whether there was one."""
    if path is None or not path.exists():
        return False
    path.unlink(missing_ok=True)
    return True


def claimed(instance_info: Mapping[str, Any]) -> str:
    """Return the format that the user gives for the image; empty when none. Raise OperationError for an unknown one."""
    text = str(instance_info.get("image_disk_format") or "").lower()
    if text in ("", "unknown"):
        return ""
    if text not in (*FORMATS, "gpt"):
        raise OperationError(
            "check the image's format",
            f"image_disk_format is {text!r}, and the agent writes only {', '.join(FORMATS)}",
            "Convert the image (qemu-img convert -O qcow2) and set image_disk_format to what it is.",
        )
    return "raw" if text == "gpt" else text


def inspect(stream: IO[bytes], size: int | None, name: str, claim: str = "") -> Content:
    """Return what the content is; raise OperationError when it is not what is claimed, or dangerous to convert."""
    if size == 0:
        raise OperationError(f"check image {name}", "it is empty", "Copy the image again.")
    found = _detect(stream, size, name)
    if found.disk_format not in FORMATS:
        raise OperationError(
            f"check image {name}",
            f"it is {found.disk_format}, and the agent writes only {', '.join(FORMATS)}",
            "Convert the image (qemu-img convert -O qcow2) and give its new checksum.",
        )
    if claim and claim != found.disk_format:
        raise OperationError(
            f"check image {name}",
            f"image_disk_format says {claim}, but its content is {found.disk_format}",
            f"Set image_disk_format to {found.disk_format}, or give the image that was meant.",
        )
    return found


def _detect(stream: IO[bytes], size: int | None, name: str) -> Content:
    if INSPECTOR_MISSING is not None:
        raise OperationError(
            "check the image's format", "oslo.utils is not installed", "Install it: pip install oslo.utils."
        )
    stream.seek(0)
    wrapper = format_inspector.InspectWrapper(io.BytesIO(stream.read(INSPECTED)))
    while wrapper.read(4096):
        pass
    wrapper.close()
    matches = {str(match): match for match in wrapper.formats or ()}
    # A disc image that a firmware can boot from a stick is a disc and a disk at once.
    kinds = sorted(matches.keys() - {"gpt"} if "iso" in matches else matches)
    if len(kinds) > 1:
        raise OperationError(
            f"check image {name}",
            f"it looks like {' and '.join(kinds)} at once",
            "Build the image anew, without old headers.",
        )
    kind = kinds[0]
    if kind != "qcow2":
        return Content("raw" if kind == "gpt" else kind, size)
    return Content(kind, _qcow2_size(matches[kind], name))


def _qcow2_size(inspector: Any, name: str) -> int:
    """Return the size of the disk in a qcow2 image, in bytes; refuse one that would make the agent read other files."""
    try:
        inspector.safety_check()
    except format_inspector.SafetyCheckFailed as error:
        raise OperationError(
            f"check image {name}",
            f"the qcow2 header asks for what no image may ask for ({error})",
            "Convert the image into one without backing file, data file or unknown features.",
        ) from error
    return int(inspector.virtual_size)


def _image(
    source: str, content: Content, checksum: Checksum, *, size: int | None, local: bool = False, changed: bool = False
) -> Image:
    return Image(
        id=file_name(source) or "image",
        disk_format=content.disk_format,
        os_hash_algo=checksum.algorithm,
        os_hash_value=checksum.value,
        size=size,
        virtual_size=content.virtual_size,
        local=local,
        changed=changed,
    )


def _refuse_unsupported(source: str, scheme: str, instance_info: Mapping[str, Any]) -> None:
    attempted = "find the image"
    if not source:
        raise OperationError(attempted, "instance_info has no image_source", "Set image_source to a URL of the image.")
    if scheme not in _ACCEPTED:
        kind = f"{scheme}:// images are" if scheme else "images of an image service (Glance) are"
        raise OperationError(
            attempted, f"{kind} not supported (image_source)", "Give a http, https or file URL of a whole-disk image."
        )
    partition = instance_info.get("image_type") == "partition" or (
        instance_info.get("image_type") is None and instance_info.get("kernel") and instance_info.get("ramdisk")
    )
    if partition:
        raise OperationError(
            attempted,
            "images of a single partition are not supported",
            "Give a whole-disk image, and image_type whole-disk.",
        )


def image_info(image: Mapping[str, Any], url: str, node: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the agent must know to write an image (contract, "image_info"); ``image`` is what facts() gave."""
    driver_info = node.get("driver_info") or {}
    proxies = {
        kind: driver_info[f"image_{kind}_proxy"] for kind in ("http", "https") if driver_info.get(f"image_{kind}_proxy")
    }
    info: dict[str, Any] = {
        **{key: image[key] for key in ("id", "disk_format", "os_hash_algo", "os_hash_value")},
        "urls": [url],
        "container_format": "bare",
        "image_type": "whole-disk",
        "stream_raw_images": True,
        "node_uuid": node.get("uuid"),
    }
    if proxies:
        info["proxies"] = proxies
        info["no_proxy"] = driver_info.get("image_no_proxy")
    return info


def check_fits(image: Mapping[str, Any], disk: Mapping[str, Any]) -> None:
    """Raise OperationError when the disk in an image is larger than the disk that it goes to."""
    needed, there = image.get("virtual_size"), int(disk.get("size") or 0)
    if needed is not None and int(needed) > there:
        raise OperationError(
            f"write image {image['id']} to {disk.get('name')}",
            f"the image's disk has {needed} bytes and the machine's only {there}",
            "Use a smaller image, or hints (root_device) that choose a larger disk.",
        )

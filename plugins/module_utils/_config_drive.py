# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Config drives: the small disk from which cloud-init learns names, users and networks.

A config drive is given as an object, as a URL, or ready made: gzip-compressed, base64-encoded ISO 9660. The agent takes
the last two. Source: contract/engine.md section 5, contract/agent-protocol.md "write_image".
"""

from __future__ import annotations

import base64
import binascii
import gzip
import io
import json
import traceback
import zlib
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ansible_collections.rackwright.metal.plugins.module_utils._download import head, shown
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError

try:
    import pycdlib
except ImportError:
    PYCDLIB_MISSING: str | None = traceback.format_exc()
else:
    PYCDLIB_MISSING = None

LABEL = "config-2"
LIMIT = 64 << 20
"""Bytes of the uncompressed drive: the partition that the agent makes for it is not larger."""

PARTS = ("meta_data", "user_data", "network_data", "vendor_data")
VERSIONS = ("latest", "2012-08-10")
"""Folders below ``openstack`` that readers look into."""

_NAMES = {
    "meta_data": "meta_data.json",
    "user_data": "user_data",
    "network_data": "network_data.json",
    "vendor_data": "vendor_data2.json",
}
_ATTEMPTED = "make the config drive"


def ready(configdrive: Any, node: Mapping[str, Any]) -> str | None:
    """Return the config drive as the agent takes it: a URL as it is, ready-made text byte for byte, an object built.

    Return None when there is none. Raise OperationError when it is too large or cannot be a config drive.
    """
    if not configdrive:
        return None
    if isinstance(configdrive, Mapping):
        return encode(build(configdrive, node))
    text = str(configdrive)
    if text.lstrip().startswith("{"):
        return encode(build(_parsed(text), node))
    if urlsplit(text[:2048]).scheme in ("http", "https"):
        head(text, 1)
        return text
    _check_drive(text)
    return text


def encode(drive: bytes) -> str:
    """Return the bytes of a drive compressed and as text; the same bytes give the same text."""
    return base64.b64encode(gzip.compress(drive, mtime=0)).decode("ascii")


def build(parts: Mapping[str, Any], node: Mapping[str, Any]) -> bytes:
    """Return an ISO 9660 image (Joliet and Rock Ridge) with what the object holds; raise OperationError.

    The metadata gets the node's ``uuid`` and ``name`` where it has none of its own.
    """
    if PYCDLIB_MISSING is not None:
        raise _wrong("pycdlib is not installed", "Install it: pip install pycdlib.")
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        raise _wrong(f"it has unknown parts: {', '.join(unknown)}", f"Give only {', '.join(PARTS)}.")
    files = _files(parts, node)
    if sum(map(len, files.values())) * len(VERSIONS) > LIMIT:
        raise _too_large()
    drive = _iso({f"/openstack/{version}/{name}": content for version in VERSIONS for name, content in files.items()})
    if len(drive) > LIMIT:
        raise _too_large()
    return drive


def unpack(text: str) -> dict[str, bytes]:
    """Return the files of a drive, made by ``encode``, by path; none where the text is no such drive."""
    iso, found = pycdlib.PyCdlib(), {}
    try:
        iso.open_fp(io.BytesIO(gzip.decompress(base64.b64decode(text))))
    except (ValueError, OSError, EOFError, zlib.error, pycdlib.pycdlibexception.PyCdlibException):
        return {}
    for folder, _folders, names in iso.walk(rr_path="/"):
        for path in (f"{folder.rstrip('/')}/{name}" for name in names):
            content = io.BytesIO()
            iso.get_file_from_iso_fp(content, rr_path=path)
            found[path] = content.getvalue()
    iso.close()
    return found


def _files(parts: Mapping[str, Any], node: Mapping[str, Any]) -> dict[str, bytes]:
    meta = {"uuid": node.get("uuid"), "name": node.get("name"), **_object(parts, "meta_data")}
    files = {_NAMES["meta_data"]: _json({key: value for key, value in meta.items() if value is not None})}
    if parts.get("user_data") is not None:
        given = parts["user_data"]
        files[_NAMES["user_data"]] = given.encode() if isinstance(given, str) else _json(given)
    if parts.get("network_data") is not None:
        files[_NAMES["network_data"]] = _json(without_null_mtu(_object(parts, "network_data")))
    if parts.get("vendor_data") is not None:
        files[_NAMES["vendor_data"]] = _json(_object(parts, "vendor_data"))
    return files


def without_null_mtu(network_data: Mapping[str, Any]) -> dict[str, Any]:
    """Return network data whose links have an MTU or none at all: a null one leaves an instance without network."""
    data = dict(network_data)
    if isinstance(data.get("links"), list):
        data["links"] = [
            {key: value for key, value in link.items() if key != "mtu" or value is not None}
            if isinstance(link, dict)
            else link
            for link in data["links"]
        ]
    return data


def _object(parts: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = parts.get(key) or {}
    value = _parsed(value) if isinstance(value, str) else value
    if not isinstance(value, Mapping):
        raise _wrong(f"{key} is no object", f"Give {key} as a JSON object.")
    return dict(value)


def _parsed(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise _wrong(f"it is broken JSON ({error})", "Correct the JSON, or give base64 text or a URL.") from error
    if not isinstance(value, dict):
        raise _wrong("its JSON is no object", f"Give an object with {', '.join(PARTS)}.")
    return value


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()


def _iso(files: Mapping[str, bytes]) -> bytes:
    iso = pycdlib.PyCdlib()
    iso.new(interchange_level=3, joliet=3, rock_ridge="1.09", vol_ident=LABEL)
    try:
        folders = ["/openstack", *(f"/openstack/{version}" for version in VERSIONS)]
        short = {folder: _short(folder, "D", number) for number, folder in enumerate(folders)}
        for folder in folders:
            parent, _slash, name = folder.rpartition("/")
            iso.add_directory(short.get(parent, "") + short[folder], rr_name=name, joliet_path=folder)
            short[folder] = short.get(parent, "") + short[folder]
        for number, (path, content) in enumerate(files.items()):
            folder, _slash, name = path.rpartition("/")
            iso_path = short[folder] + _short(path, "F", number) + ".;1"
            iso.add_fp(io.BytesIO(content), len(content), iso_path, rr_name=name, joliet_path=path)
        written = io.BytesIO()
        iso.write_fp(written)
    finally:
        iso.close()
    return written.getvalue()


def _short(path: str, kind: str, number: int) -> str:
    """Return a name that plain ISO 9660 allows; readers use the long names of Rock Ridge or Joliet."""
    letters = "".join(letter for letter in path.rpartition("/")[2].upper() if letter.isalnum())
    return f"/{letters[:5]}{kind}{number}"


def _check_drive(text: str) -> None:
    try:
        content = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise _wrong(
            "it is neither an object, nor a URL, nor base64 text",
            "Give an object with meta_data and so on, or a gzip-compressed ISO in base64.",
        ) from error
    reader = zlib.decompressobj(wbits=31)
    try:
        size = len(reader.decompress(content, LIMIT + 1))
    except zlib.error as error:
        raise _wrong("its base64 text holds no gzip data", "Compress the ISO image with gzip before base64.") from error
    if size > LIMIT:
        raise _too_large()
    if not reader.eof:
        raise _wrong("its gzip data ends too early", "Send the config drive again, whole.")


def _too_large() -> OperationError:
    return _wrong(f"it is larger than {LIMIT >> 20} MiB", "Move large data to a server, and let user_data fetch it.")


def _wrong(cause: str, action: str) -> OperationError:
    return OperationError(_ATTEMPTED, cause, action)


def described(configdrive: Any) -> str:
    """Return what kind of config drive was given, without any of its content."""
    if not configdrive:
        return "none"
    if isinstance(configdrive, Mapping):
        return "object"
    text = str(configdrive)[:2048]
    return shown(text) if urlsplit(text).scheme in ("http", "https") else "text"

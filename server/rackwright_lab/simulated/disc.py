# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The kernel's command line on a disc, read over HTTP without fetching the whole of the disc.

Source of the format: ECMA-119, sections 8.4 (volume descriptor) and 9.1 (directory record).
"""

from __future__ import annotations

import re
import shlex
import struct
from collections.abc import Mapping

import aiohttp

from rackwright_lab.errors import LabError

_SECTOR = 2048
_HEAD = 64 * _SECTOR  # what is fetched at first: volume descriptors and directories, of small discs all
_CONFIG = (b"EFI", b"BOOT", b"GRUB.CFG;1")
_LINE = re.compile(r"^\s*(?:linux\S*|kernel)\s+\S+\s+(.*)$", re.MULTILINE)


class _Disc:
    """A disc behind a URL."""

    def __init__(self, client: aiohttp.ClientSession, url: str) -> None:
        self._client, self._url, self._head = client, url, b""

    async def read(self, start: int, size: int) -> bytes:
        if not self._head:
            self._head = await self._fetch(0, _HEAD)
        if start + size <= len(self._head):
            return self._head[start : start + size]
        return (await self._fetch(start, size))[:size]

    async def _fetch(self, start: int, size: int) -> bytes:
        headers = {"Range": f"bytes={start}-{start + size - 1}"}
        async with self._client.get(self._url, headers=headers) as answer:
            if answer.status not in (200, 206):
                raise LabError(f"Could not boot the disc {self._url}: HTTP {answer.status}.")
            content = await answer.read()
            return content[start:] if answer.status == 200 else content


async def disc_parameters(client: aiohttp.ClientSession, url: str) -> Mapping[str, str]:
    """Return the kernel parameters in the GRUB configuration of a disc; raise LabError, or aiohttp's errors."""
    disc = _Disc(client, url)
    descriptor = await disc.read(16 * _SECTOR, _SECTOR)
    if descriptor[1:6] != b"CD001":
        raise LabError(f"Could not boot the disc {url}: it is no ISO 9660 image.")
    record = descriptor[156:190]
    for name in _CONFIG:
        record = _find(await disc.read(*_extent(record)), name, url)
    return parse((await disc.read(*_extent(record))).decode(errors="replace"))


async def script_parameters(client: aiohttp.ClientSession, url: str) -> Mapping[str, str]:
    """Return the kernel parameters in a script of network boot; raise LabError, or aiohttp's errors."""
    async with client.get(url) as answer:
        if answer.status != 200:
            raise LabError(f"Could not boot over the network from {url}: HTTP {answer.status}.")
        return parse(await answer.text())


def parse(config: str) -> Mapping[str, str]:
    """Return the parameters of the kernel that a boot loader's configuration starts; raise LabError."""
    found = _LINE.search(config)
    if found is None:
        raise LabError("Could not boot: the configuration of the boot loader has no line that loads a kernel.")
    words = (word.partition("=") for word in shlex.split(found[1]))
    return {name: value for name, _, value in words}


def _extent(record: bytes) -> tuple[int, int]:
    (sector,) = struct.unpack_from("<I", record, 2)
    (size,) = struct.unpack_from("<I", record, 10)
    return sector * _SECTOR, size


def _find(directory: bytes, name: bytes, url: str) -> bytes:
    """Return the record of a name; records do not cross sectors, the rest of each is zero."""
    place = 0
    while place < len(directory):
        length = directory[place]
        if length == 0:
            place = (place // _SECTOR + 1) * _SECTOR
            continue
        record = directory[place : place + length]
        if record[33 : 33 + record[32]].upper() == name:
            return record
        place += length
    raise LabError(f"Could not boot the disc {url}: it has no EFI/BOOT/grub.cfg.")

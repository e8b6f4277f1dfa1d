# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The virtual drives of a Redfish system.

sushy knows which further fields a BMC may ask for when an image is inserted by an action. Where there is no action, the
resource itself is changed. In both cases we believe only what the BMC shows afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.base import Drive
from ansible_collections.rackwright.metal.plugins.module_utils._bmc.redfish_service import (
    SUSHY_MISSING,
    Service,
    link,
    members,
    rejects,
)
from ansible_collections.rackwright.metal.plugins.module_utils._errors import NotOfferedError, OperationError

if not SUSHY_MISSING:
    from sushy.resources.manager.virtual_media import VirtualMedia

Data = dict[str, Any]

INSERT, EJECT = "#VirtualMedia.InsertMedia", "#VirtualMedia.EjectMedia"
KINDS = {"cdrom": {"CD", "DVD"}, "disk": {"USBStick"}, "floppy": {"Floppy"}}
"""Our name of a kind of drive to the media types of Redfish."""

NAMES = {"cdrom": ("CD",), "disk": ("USB", "DISK"), "floppy": ("FLOPPY",)}
"""What the names of drives hold that tell no media types."""

READ_BACK = 30.0
"""Seconds after which the BMC must show what it has accepted."""

TRIES = 3


class Drives:
    """The drives of one system that take images of some kinds (see KINDS), and what is in them.

    They are read once; after a change, again.
    """

    def __init__(self, service: Service, system: Data, devices: Sequence[str]) -> None:
        self._service = service
        self._system = system
        self._devices = devices
        self._known: list[tuple[str, Data]] | None = None

    def listed(self) -> list[Drive]:
        """Return the drives."""
        return [_drive(path, drive) for path, drive in self._drives()]

    def image(self, expected: str | None = None) -> str | None:
        """Return the URL of the image that is inserted, None when the drives are empty.

        That is ``expected`` where a drive holds it, even if the BMC shows no more than its file name.
        """
        drives = [drive for _path, drive in self._full()]
        if expected and any(_holds(drive, expected) for drive in drives):
            return expected
        return next((str(drive.get("Image") or drive.get("ImageName") or "") for drive in drives), None)

    def insert(self, url: str) -> None:
        """Insert the image at ``url``; another one is ejected."""
        if self.image(url) == url:
            return
        self.eject()
        path, drive = self._best()
        self._known = None
        with self._believing(path, lambda drive: _holds(drive, url)):
            self._insert(path, drive, url)
        if not self._await(path, lambda drive: _holds(drive, url)):
            raise OperationError(
                f"insert {url}",
                f"The BMC accepted it, but the drive {path} was still empty after {READ_BACK:.0f} s.",
                "Check that the BMC can reach that URL: its network, its firewall and the name's address.",
            )

    def eject(self) -> None:
        """Empty the drives; asked again where a BMC accepts it and does nothing."""
        for path, drive in list(self._full()):
            for _attempt in range(TRIES):
                self._known = None
                with self._believing(path, lambda drive: not _is_full(drive)):
                    self._eject(path, drive)
                if self._await(path, lambda drive: not _is_full(drive)):
                    break
            else:
                raise OperationError(
                    f"eject the image from {path}",
                    f"The BMC accepted it {TRIES} times, but the image is still inserted.",
                    "Eject it in the BMC's own pages, or reset the BMC.",
                )

    def _insert(self, path: str, drive: Data, url: str) -> None:
        if INSERT in (drive.get("Actions") or {}):
            self._service.patiently(
                lambda: VirtualMedia(self._service.connector(), path, json_doc=drive).insert_media(url)
            )
        else:
            self._service.patch_with_first(path, {"Image": url, "Inserted": True}, {"Image": url})

    @contextmanager
    def _believing(self, path: str, reached: Callable[[Data], bool]) -> Iterator[None]:
        """Take it that all is well where a BMC refuses what it has done: the answer to an earlier try was lost."""
        try:
            yield
        except Exception as error:
            if not (rejects(error) and reached(self._service.get(path))):
                raise

    def _eject(self, path: str, drive: Data) -> None:
        action = (drive.get("Actions") or {}).get(EJECT) or {}
        if not action.get("target"):
            self._service.patch_with_first(path, {"Image": None, "Inserted": False}, {"Image": None})
            return
        try:
            self._service.post(action["target"], {})
        except Exception as error:
            if not rejects(error):
                raise
            self._service.post(action["target"], None)

    def _full(self) -> Iterator[tuple[str, Data]]:
        return ((path, drive) for path, drive in self._drives() if _is_full(drive))

    def _best(self) -> tuple[str, Data]:
        drives = sorted(self._drives(), key=lambda pair: INSERT not in (pair[1].get("Actions") or {}))
        if not drives:
            raise NotOfferedError(
                f"find a virtual drive of the kind {' or '.join(self._devices)}",
                "The BMC has none.",
                "Check its licence and firmware, or boot this machine over the network.",
            )
        return drives[0]

    def _drives(self) -> list[tuple[str, Data]]:
        """Return the drives of the wanted kinds: the system's own, or else those of the BMC that manages it."""
        if self._known is None:
            self._known = self._read()
        return self._known

    def _read(self) -> list[tuple[str, Data]]:
        for collection in self._collections():
            found = [(path, self._service.find(path)) for path in members(self._service.find(collection))]
            if drives := [(path, drive) for path, drive in found if set(_device_types(drive)) & set(self._devices)]:
                return drives
        return []

    def _collections(self) -> Iterator[str]:
        if own := link(self._system.get("VirtualMedia")):
            yield own
        links = self._system.get("Links") or {}
        managers = [link(item) for item in links.get("ManagedBy") or links.get("Managers") or ()]
        for manager in managers or members(self._service.find(link(self._service.root.json.get("Managers")))):
            if collection := link(self._service.find(manager).get("VirtualMedia")):
                yield collection

    def _await(self, path: str, reached: Callable[[Data], bool]) -> bool:
        end = time.monotonic() + READ_BACK
        while not reached(self._service.get(path)):
            if time.monotonic() >= end:
                return False
            time.sleep(0.5)
        return True


def _device_types(drive: Data) -> tuple[str, ...]:
    told = set(drive.get("MediaTypes") or ())
    if told:
        return tuple(kind for kind, types in KINDS.items() if told & types)
    name = str(drive.get("Id") or drive.get("Name") or "").upper()
    return tuple(kind for kind, parts in NAMES.items() if any(part in name for part in parts))


def _drive(path: str, drive: Data) -> Drive:
    image = drive.get("Image") or drive.get("ImageName")
    full = _is_full(drive)
    name = str(drive.get("Id") or path.rstrip("/").rpartition("/")[2])
    return Drive(name, _device_types(drive), full, str(image) if full and image else None)


def _is_full(drive: Data) -> bool:
    inserted = drive.get("Inserted")
    return bool(drive.get("Image") or drive.get("ImageName")) if inserted is None else bool(inserted)


def _holds(drive: Data, url: str) -> bool:
    """Return whether the image at ``url`` is inserted; some BMCs show only its file name."""
    image = str(drive.get("Image") or "")
    if not _is_full(drive) or "://" in image:
        return image == url
    return urlsplit(url).path.rpartition("/")[2] in (image, drive.get("ImageName"))

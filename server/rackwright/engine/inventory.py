# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What a machine says about itself: the form of an inspection report, and the repair of what firmware gets wrong.

Firmware puts anything into the texts that a report carries. A field that no database can keep is repaired and noted;
the rest of the report is worth as much as before. Source: ``contract/agent-protocol.md`` sections 1 and 2.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rackwright.domain.errors import Invalid
from rackwright.store.sealing import SEALED, holds_seal

_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
_BOOTIF = re.compile(r"(?:01|20)-((?:[0-9a-f]{2}-){5}[0-9a-f]{2})")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_LOGICAL = re.compile(r"(bond|team|br|virbr|docker)[-_]?\d|.*\.\d+$")
_VIRTUAL_MACHINES = ("52:54:00:", "fa:16:3e:")  # QEMU and OpenStack: locally administered, yet one for each interface


class ReportInvalid(Invalid):
    """The inspection report cannot be used: {reason}."""


@dataclass(frozen=True, slots=True)
class Note:
    """A field of a report that was repaired or left out, and why."""

    field: str
    text: str


def mac(text: object) -> str | None:
    """Return a hardware address in the form ``aa:bb:cc:dd:ee:ff``, or None if it is none.

    ``01-aa-bb-cc-dd-ee-ff``, as boot loaders write it, is understood too.
    """
    if not isinstance(text, str):
        return None
    lower = text.strip().lower()
    if found := _BOOTIF.fullmatch(lower):
        lower = found[1]
    lower = lower.replace("-", ":")
    return lower if _MAC.fullmatch(lower) else None


def macs(texts: Iterable[object]) -> list[str]:
    """Return the valid addresses among ``texts``, normalised, each once, in their order."""
    return list(dict.fromkeys(address for text in texts if (address := mac(text))))


def identifying(addresses: Iterable[str]) -> list[str]:
    """Return the addresses that tell one machine from another: those of the best kind among ``addresses``.

    Locally administered addresses, such as that of the internal interface towards a BMC, are often the same on every
    unit of a model. They count only when the machine has no others; those that begin with fa only as a last resort.
    """
    every = list(addresses)
    best = min(map(_doubt, every), default=0)
    return [address for address in every if _doubt(address) == best]


def _doubt(address: str) -> int:
    if not int(address[:2], 16) & 0b10 or address.startswith(_VIRTUAL_MACHINES):
        return 0
    return 2 if address.startswith("fa:") else 1


def check(body: Any) -> tuple[dict[str, Any], dict[str, Any], list[Note]]:
    """Return inventory, plugin data and notes of a report; raise ReportInvalid where its form is wrong."""
    if not isinstance(body, dict) or not isinstance(body.get("inventory"), dict):
        raise ReportInvalid(reason="it must be an object with the object inventory")
    if holds_seal(body):
        raise ReportInvalid(reason=f"the key {SEALED} is reserved")
    interfaces = body["inventory"].get("interfaces")
    if not isinstance(interfaces, list) or not interfaces:
        raise ReportInvalid(reason="inventory.interfaces must be a list with at least one interface")
    for place, interface in enumerate(interfaces):
        _check_interface(f"inventory.interfaces[{place}]", interface)
    for key in ("bmc_address", "bmc_v6address"):
        if not isinstance(body["inventory"].get(key), str | None):
            raise ReportInvalid(reason=f"inventory.{key} must be text or null")
    notes: list[Note] = []
    clean = _storable(body, "", notes)
    inventory = clean.pop("inventory")
    return inventory, clean, notes + _oddities(inventory)


def _check_interface(where: str, interface: object) -> None:
    if not isinstance(interface, dict) or "mac_address" not in interface:
        raise ReportInvalid(reason=f"{where} must be an object with mac_address")
    if not isinstance(interface["mac_address"], str | None):
        raise ReportInvalid(reason=f"{where}.mac_address must be text or null")


def _storable(value: Any, where: str, notes: list[Note]) -> Any:
    """Return ``value`` without what databases and JSON refuse: NUL, halves of surrogate pairs, NaN and infinity."""
    match value:
        case dict():
            return {
                _storable(key, where, notes): _storable(item, f"{where}.{key}".lstrip("."), notes)
                for key, item in value.items()
            }
        case list():
            return [_storable(item, f"{where}[{place}]", notes) for place, item in enumerate(value)]
        case str() if _UNSTORABLE.search(value):
            notes.append(Note(_UNSTORABLE.sub("\ufffd", where), "characters that cannot be stored were replaced"))
            return _UNSTORABLE.sub("\ufffd", value)
        case float() if not math.isfinite(value):
            notes.append(Note(where, "a number that JSON does not know became null"))
            return None
        case _:
            return value


def _oddities(inventory: Mapping[str, Any]) -> list[Note]:
    """Return notes on interfaces without an address and disks without a size."""
    found = [
        Note(f"inventory.interfaces[{place}].mac_address", "the interface has no usable address and was left out")
        for place, interface in enumerate(inventory["interfaces"])
        if mac(interface["mac_address"]) is None
    ]
    return found + [
        Note(f"inventory.disks[{place}].size", "the disk has no size and was left out of the choice of a root disk")
        for place, disk in enumerate(disks(inventory))
        if not _size(disk)
    ]


def disks(inventory: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the disks of an inventory; what is no object is left out."""
    listed = inventory.get("disks")
    return [disk for disk in listed if isinstance(disk, dict)] if isinstance(listed, list) else []


def usable_disks(inventory: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the disks that have a size."""
    return [disk for disk in disks(inventory) if _size(disk)]


def _size(disk: Mapping[str, Any]) -> int:
    size = disk.get("size")
    return size if isinstance(size, int) and size > 0 else 0


def hardware_addresses(interfaces: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the addresses of real interfaces: a bond or a bridge shows the address of one of its members."""
    return macs(each["mac_address"] for each in interfaces if not is_logical(each)) or macs(
        each["mac_address"] for each in interfaces
    )


def is_logical(interface: Mapping[str, Any]) -> bool:
    """Tell whether the kernel made this interface out of others."""
    return isinstance(name := interface.get("name"), str) and _LOGICAL.match(name) is not None


def bmc_addresses(inventory: Mapping[str, Any]) -> list[str]:
    """Return the addresses of the BMC as the machine sees them; an unset one is not among them."""
    unset = ("", "0.0.0.0", "::/0", "::")
    return [text for key in ("bmc_address", "bmc_v6address") if (text := inventory.get(key) or "").strip() not in unset]

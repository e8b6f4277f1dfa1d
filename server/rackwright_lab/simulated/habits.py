# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The habits of BMCs that were met in the field, each under the name of its case.

A habit may change what is shown (``SHOWN``), and may answer a request in place of the BMC (``ANSWERED``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rackwright_lab.simulated import actions, documents
from rackwright_lab.simulated.actions import refusal
from rackwright_lab.simulated.http import Answer, Data, Request
from rackwright_lab.simulated.machine import Machine

Key = tuple[str, str]

_SYSTEM: Key = ("Systems", "")
_SETTINGS: Key = ("Systems", "Settings")
_CARDS: Key = ("Systems", "EthernetInterfaces")
_TRIPLE = {"BootSourceOverrideTarget", "BootSourceOverrideEnabled", "BootSourceOverrideMode"}
_ODD_MACS: Mapping[str, Any] = {"EthernetInterfaces/2": "", "EthernetInterfaces/3": None, "EthernetInterfaces/4": "N/A"}


def show(machine: Machine, key: Key, found: Data | None) -> Data | None:
    """Return what the machine's BMC shows in place of what was found; None: there is nothing."""
    for name, change in SHOWN.items():
        if variant := machine.faults.habit(name):
            found = change(machine, key, found, variant)
    return found


def answer(machine: Machine, key: Key, request: Request) -> Answer | None:
    """Return what the machine's habits answer; None: they do not mind."""
    for name, habit in ANSWERED.items():
        if variant := machine.faults.habit(name):
            told = habit(machine, key, request, variant)
            if told is not None:
                return told
    return None


def etag_header(machine: Machine) -> str:
    """Return the ETag in the header of an answer; nothing when there is none."""
    match machine.faults.habit("etag-forms-ladder"):
        case "a" | "c":
            return f'"{machine.version}"'
        case "d":
            return '""'
        case "e":
            return ""
        case _:
            return documents.etag(machine)


def accepts(machine: Machine, given: str | None) -> bool:
    """Return whether a change may be made with this If-Match."""
    bare = str(machine.version)
    match machine.faults.habit("etag-forms-ladder"):
        case "a":
            return given in (None, bare)
        case "b":
            return given in (None, f'"{bare}"')
        case "c" | "d":
            return given is None
        case "e":
            return given is not None and given.removeprefix("W/") == f'"{bare}"'
        case _:
            return given in (None, "*") or str(given).removeprefix("W/") == f'"{bare}"'


def _show_plain_drives(_machine: Machine, key: Key, found: Data | None, _variant: str) -> Data | None:
    if found and key[1].startswith("VirtualMedia/"):
        return {name: value for name, value in found.items() if name != "Actions"}
    return found


def _change_plain_drives(machine: Machine, key: Key, request: Request, _variant: str) -> Answer | None:
    drive = key[1].removeprefix("VirtualMedia/")
    if request.method == "PATCH" and drive in machine.media:
        return actions.patch_drive(machine, drive, request.body)
    if request.method == "POST" and key[0] == "Managers":
        machine.history.add("guessed", path=request.path)
        return refusal(404, "ActionNotSupported")
    return None


def _refuse_extras(_machine: Machine, key: Key, request: Request, variant: str) -> Answer | None:
    if key[1].endswith("InsertMedia") and request.body.keys() & {"Inserted", "WriteProtected"}:
        return refusal(400, "PropertyNotWritable" if variant == "a" else "PropertyUnknown")
    return None


def _show_settings(machine: Machine, key: Key, found: Data | None, variant: str) -> Data | None:
    path = f"{documents.ROOT}/Systems/{machine.uuid}/Settings"
    if key == _SETTINGS:
        shown = {"@odata.id": path, "@odata.etag": documents.etag(machine), "Id": "Settings", "Name": "Pending"}
        return {**shown, "Boot": documents.boot(machine)} if variant == "a" else shown
    if key != _SYSTEM or found is None:
        return found
    found["@Redfish.Settings"] = {"SettingsObject": documents.link(path)}
    if variant == "a":
        allowed = "BootSourceOverrideTarget@Redfish.AllowableValues"
        found["Boot"] = {name: value for name, value in found["Boot"].items() if name != allowed}
    return found


def _change_settings(machine: Machine, key: Key, request: Request, variant: str) -> Answer | None:
    if request.method != "PATCH":
        return None
    if variant == "a" and key == _SYSTEM:
        return refusal(405, "OperationNotAllowed")
    if key == _SETTINGS:
        good = variant == "a"
        return actions.patch_system(machine, request.body) if good else refusal(400, "PropertyNotWritable")
    return None


def _want_one_form(machine: Machine, key: Key, request: Request, variant: str) -> Answer | None:
    boot = request.body.get("Boot")
    if request.method != "PATCH" or key != _SYSTEM or not isinstance(boot, dict):
        return None
    if variant == "a" and (not boot.keys() >= _TRIPLE or None in boot.values()):
        return refusal(400, "PropertyMissing", "Target, enabled and mode go together.")
    if variant == "b" and "BootSourceOverrideEnabled" in boot:
        actions.patch_system(machine, request.body)
        return refusal(400, "PropertyNotWritable", "BootSourceOverrideEnabled cannot be written.")
    return None


def _redirect(_machine: Machine, key: Key, request: Request, variant: str) -> Answer | None:
    if request.method != "POST" or "/Actions/" not in f"/{key[1]}" or request.path.endswith("/"):
        return None
    host = "http://elsewhere.invalid" if variant == "b" else ""
    return Answer(308, None, {"Location": f"{host}{request.path}/"})


def _show_no_cards(machine: Machine, key: Key, found: Data | None, variant: str) -> Data | None:
    if variant == "a":
        if key == _SYSTEM and found:
            found.pop("EthernetInterfaces", None)
        return None if key[1].startswith("EthernetInterfaces") else found
    path = f"{documents.ROOT}/Systems/{machine.uuid}"
    if key == _CARDS:
        names = ["EthernetInterfaces/1", *_ODD_MACS]
        return documents.collection(f"{path}/EthernetInterfaces", [f"{path}/{name}" for name in names])
    if key[1] in _ODD_MACS:
        number = key[1].rpartition("/")[2]
        return {"@odata.id": f"{path}/{key[1]}", "Id": number, "Name": number, "MACAddress": _ODD_MACS[key[1]]}
    return found


def _check_bios(_machine: Machine, key: Key, request: Request, _variant: str) -> Answer | None:
    if request.method != "PATCH" or key != ("Systems", "Bios/Settings"):
        return None
    types = {"Cores": int, "Turbo": bool, "Mode": str}
    values = request.body.get("Attributes") or {}
    wrong = [name for name, value in values.items() if type(value) is not types.get(name, type(value))]
    return refusal(400, "PropertyValueTypeError", f"{', '.join(wrong)}: wrong type.") if wrong else None


SHOWN: Mapping[str, Callable[[Machine, Key, Data | None, str], Data | None]] = {
    "vmedia-patch-only-no-action": _show_plain_drives,
    "boot-override-in-settings-resource": _show_settings,
    "no-ethernet-interfaces": _show_no_cards,
}
ANSWERED: Mapping[str, Callable[[Machine, Key, Request, str], Answer | None]] = {
    "redirects-and-trailing-slashes": _redirect,
    "vmedia-patch-only-no-action": _change_plain_drives,
    "vmedia-extra-fields-refused": _refuse_extras,
    "boot-override-in-settings-resource": _change_settings,
    "boot-override-needs-all-three": _want_one_form,
    "bios-types-and-bad-values": _check_bios,
}

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What a simulated BMC is told to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rackwright_lab.simulated import documents
from rackwright_lab.simulated.http import Answer, Data, Refused
from rackwright_lab.simulated.machine import Machine

DONE = Answer(204)
_BOOT = {
    "BootSourceOverrideTarget": ("target", documents.TARGETS),
    "BootSourceOverrideEnabled": ("enabled", documents.ENABLED),
    "BootSourceOverrideMode": ("mode", documents.MODES),
}


def refusal(status: int, code: str = "GeneralError", text: str = "The request is refused.") -> Answer:
    """Return an error as Redfish tells it."""
    info = [{"MessageId": f"Base.1.8.{code}", "Message": text}]
    return Answer(status, {"error": {"code": f"Base.1.8.{code}", "message": text, "@Message.ExtendedInfo": info}})


def patch_system(machine: Machine, body: Data) -> Answer:
    """Change the boot override."""
    changes = body.get("Boot")
    if not isinstance(changes, dict) or body.keys() - {"Boot", "IndicatorLED"}:
        raise Refused(refusal(400, "PropertyUnknown", "Only Boot can be changed."))
    values = {}
    for key, value in changes.items():
        if key == "HttpBootUri":
            values["uri"] = value
            continue
        field, allowed = _BOOT.get(key, ("", ()))
        if value not in allowed:
            raise Refused(refusal(400, "PropertyValueNotInList", f"{key} cannot be {value!r}."))
        values[field] = value
    if values.get("target", "None") != "None" and "enabled" not in values and machine.boot.enabled == "Disabled":
        values["enabled"] = "Once"
    for field, value in values.items():
        setattr(machine.boot, field, value)
    machine.changed()
    machine.history.add("boot override", **values)
    return DONE


def patch_secure_boot(machine: Machine, body: Data) -> Answer:
    """Switch secure boot."""
    machine.secure_boot = bool(body.get("SecureBootEnable"))
    machine.changed()
    return DONE


def patch_bios(machine: Machine, body: Data) -> Answer:
    """Change the BIOS settings of the next boot."""
    attributes = body.get("Attributes")
    if not isinstance(attributes, dict) or attributes.keys() - machine.bios.keys():
        raise Refused(refusal(400, "PropertyUnknown", "There is no such attribute."))
    machine.pending_bios.update(attributes)
    machine.changed()
    machine.history.add("bios settings", attributes=attributes)
    return DONE


def patch_drive(machine: Machine, name: str, body: Data) -> Answer:
    """Insert or eject a medium by changing the drive itself."""
    image = body.get("Image")
    if "Image" not in body or (image and not body.get("Inserted")):
        raise Refused(refusal(400, "PropertyMissing", "Image and, to insert one, Inserted go together."))
    if image:
        machine.insert(name, str(image))
    else:
        machine.eject(name)
    return Answer(200, documents.drive(machine, name))


def reset(machine: Machine, body: Data) -> Answer:
    """Change the power."""
    kind = body.get("ResetType")
    if kind not in documents.RESETS:
        raise Refused(refusal(400, "ActionParameterValueNotInList", f"ResetType cannot be {kind!r}."))
    machine.reset(kind)
    return DONE


def insert(machine: Machine, name: str, body: Data) -> Answer:
    """Insert a medium."""
    url = body.get("Image")
    if not isinstance(url, str) or not url:
        raise Refused(refusal(400, "ActionParameterMissing", "Image is missing."))
    if machine.media[name]:
        raise Refused(refusal(400, "ResourceInUse", "There is a medium in the drive: eject it first."))
    machine.insert(name, url)
    return DONE


def eject(machine: Machine, name: str, _body: Data) -> Answer:
    """Eject a medium."""
    machine.eject(name)
    return DONE


Change = Callable[[Machine, Data], Answer]


def _of_drive(change: Callable[[Machine, str, Data], Answer], name: str) -> Change:
    return lambda machine, body: change(machine, name, body)


PATCHES: Mapping[tuple[str, str], Change] = {
    ("Systems", ""): patch_system,
    ("Systems", "SecureBoot"): patch_secure_boot,
    ("Systems", "Bios/Settings"): patch_bios,
}
POSTS: Mapping[tuple[str, str], Change] = {
    ("Systems", "Actions/ComputerSystem.Reset"): reset,
    **{
        ("Managers", f"VirtualMedia/{name}/Actions/VirtualMedia.{verb}"): _of_drive(change, name)
        for name in ("Cd", "Usb")
        for verb, change in (("InsertMedia", insert), ("EjectMedia", eject))
    },
}
"""What PATCH and POST do at the collection and, below the machine's UUID, the rest of a path."""

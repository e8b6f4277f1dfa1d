# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The resources that a simulated BMC shows. Source: DMTF DSP0266 and the schemas of 2021.4."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from rackwright_lab.simulated.http import Data
from rackwright_lab.simulated.machine import Machine

ROOT = "/redfish/v1"
SESSIONS = f"{ROOT}/SessionService/Sessions"
RESETS = (
    *("On", "ForceOn", "ForceOff", "GracefulShutdown", "GracefulRestart", "ForceRestart", "PowerCycle"),
    *("PushPowerButton", "Nmi"),
)
TARGETS = ("None", "Pxe", "Cd", "Usb", "Hdd", "BiosSetup", "UefiHttp")
ENABLED = ("Disabled", "Once", "Continuous")
MODES = ("UEFI", "Legacy")
ATTRIBUTES: Sequence[Data] = (
    {"AttributeName": "Cores", "Type": "Integer", "LowerBound": 1, "UpperBound": 64},
    {"AttributeName": "Turbo", "Type": "Boolean"},
    {"AttributeName": "Mode", "Type": "Enumeration", "Value": [{"ValueName": "A"}, {"ValueName": "B"}]},
)
_SERVICES = ("Systems", "Managers", "Chassis", "SessionService", "TaskService", "UpdateService")
_MEDIA_TYPES = {"Cd": ["CD", "DVD"], "Usb": ["USBStick"]}


def link(path: str) -> Data:
    """Return a link."""
    return {"@odata.id": path}


def root(service_uuid: str) -> Data:
    """Return the service root."""
    return {
        **{"@odata.id": f"{ROOT}/", "Id": "RootService", "Name": "Simulated BMC", "RedfishVersion": "1.15.0"},
        **{"UUID": service_uuid, "Vendor": "Rackwright", "Product": "Simulated BMC"},
        **{name: link(f"{ROOT}/{name}") for name in _SERVICES},
        "Links": {"Sessions": link(SESSIONS)},
    }


def collection(path: str, members: Sequence[str], name: str = "Collection") -> Data:
    """Return a collection."""
    listed = [link(member) for member in members]
    return {"@odata.id": path, "Name": name, "Members": listed, "Members@odata.count": len(listed)}


def session_service(seconds: float) -> Data:
    """Return the service of sessions."""
    about = {"Id": "SessionService", "Name": "Session Service", "ServiceEnabled": True}
    return {"@odata.id": f"{ROOT}/SessionService", **about, "SessionTimeout": int(seconds), "Sessions": link(SESSIONS)}


def system(machine: Machine) -> Data:
    """Return the system."""
    path = f"{ROOT}/Systems/{machine.uuid}"
    reset = {"target": f"{path}/Actions/ComputerSystem.Reset", "ResetType@Redfish.AllowableValues": list(RESETS)}
    return {
        **_head(path, machine, machine.name),
        **{"UUID": machine.uuid, "SerialNumber": machine.name, "SystemType": "Physical"},
        **{"Manufacturer": "Rackwright", "Model": "Simulated", "BiosVersion": machine.firmware},
        **{"PowerState": machine.power, "IndicatorLED": "Off", "Status": {"State": "Enabled", "Health": "OK"}},
        "Boot": boot(machine),
        "MemorySummary": {"TotalSystemMemoryGiB": 16},
        "ProcessorSummary": {"Count": 8, "Status": {"State": "Enabled", "Health": "OK"}},
        **{name: link(f"{path}/{name}") for name in ("EthernetInterfaces", "SecureBoot", "Bios")},
        "Actions": {"#ComputerSystem.Reset": reset},
        "Links": {
            "ManagedBy": [link(f"{ROOT}/Managers/{machine.uuid}")],
            "Chassis": [link(f"{ROOT}/Chassis/{machine.uuid}")],
        },
    }


def boot(machine: Machine) -> Data:
    """Return the boot override."""
    override = machine.boot
    return {
        "BootSourceOverrideTarget": override.target,
        "BootSourceOverrideTarget@Redfish.AllowableValues": list(TARGETS),
        "BootSourceOverrideEnabled": override.enabled,
        "BootSourceOverrideMode": override.mode,
        "HttpBootUri": override.uri,
    }


def manager(machine: Machine) -> Data:
    """Return the BMC itself."""
    path = f"{ROOT}/Managers/{machine.uuid}"
    return {
        **_head(path, machine, f"BMC of {machine.name}"),
        **{"ManagerType": "BMC", "FirmwareVersion": machine.firmware, "Status": {"State": "Enabled", "Health": "OK"}},
        "VirtualMedia": link(f"{path}/VirtualMedia"),
        "Links": {"ManagerForServers": [link(f"{ROOT}/Systems/{machine.uuid}")]},
    }


def chassis(machine: Machine) -> Data:
    """Return the chassis."""
    path = f"{ROOT}/Chassis/{machine.uuid}"
    contents = {"ComputerSystems": [link(f"{ROOT}/Systems/{machine.uuid}")]}
    return {**_head(path, machine, machine.name), "ChassisType": "RackMount", "IndicatorLED": "Off", "Links": contents}


def drive(machine: Machine, name: str) -> Data:
    """Return a virtual drive."""
    path = f"{ROOT}/Managers/{machine.uuid}/VirtualMedia/{name}"
    image = machine.media[name]
    verbs = ("InsertMedia", "EjectMedia")
    return {
        **_head(path, machine, f"Virtual {name}"),
        **{"Id": name, "MediaTypes": _MEDIA_TYPES[name], "WriteProtected": True},
        **{"Image": image, "ImageName": image and image.rpartition("/")[2], "Inserted": image is not None},
        "ConnectedVia": "URI" if image else "NotConnected",
        "Actions": {f"#VirtualMedia.{verb}": {"target": f"{path}/Actions/VirtualMedia.{verb}"} for verb in verbs},
    }


def secure_boot(machine: Machine) -> Data:
    """Return whether the firmware checks what it boots."""
    state = {"SecureBootEnable": machine.secure_boot, "SecureBootMode": "UserMode"}
    current = "Enabled" if machine.secure_boot else "Disabled"
    path = f"{ROOT}/Systems/{machine.uuid}/SecureBoot"
    return {**_head(path, machine, "Secure Boot"), **state, "SecureBootCurrentBoot": current}


def bios(machine: Machine) -> Data:
    """Return the BIOS settings that are in force."""
    path = f"{ROOT}/Systems/{machine.uuid}/Bios"
    settings = {"SettingsObject": link(f"{path}/Settings"), "SupportedApplyTimes": ["OnReset"]}
    values = {"Attributes": dict(machine.bios), "AttributeRegistry": "Simulated.1.0"}
    return {**_head(path, machine, "BIOS"), **values, "@Redfish.Settings": settings}


def pending_bios(machine: Machine) -> Data:
    """Return the BIOS settings of the next boot."""
    path = f"{ROOT}/Systems/{machine.uuid}/Bios/Settings"
    return {**_head(path, machine, "BIOS of the next boot"), "Attributes": dict(machine.pending_bios)}


def network_card(machine: Machine) -> Data:
    """Return the network card."""
    path = f"{ROOT}/Systems/{machine.uuid}/EthernetInterfaces/1"
    told = {"Id": "1", "MACAddress": machine.mac, "PermanentMACAddress": machine.mac, "SpeedMbps": 10000}
    return {**_head(path, machine, "Network card"), **told, "Status": {"State": "Enabled", "Health": "OK"}}


def firmware(machine: Machine) -> Data:
    """Return the firmware's version."""
    path = f"{ROOT}/UpdateService/FirmwareInventory/{machine.uuid}"
    return {**_head(path, machine, "Firmware"), "Version": machine.firmware, "Updateable": True}


def registry() -> Data:
    """Return what BIOS settings there are."""
    entries = {"Attributes": list(ATTRIBUTES)}
    about = {"Id": "Simulated.1.0", "Name": "BIOS attributes", "Language": "en", "RegistryVersion": "1.0.0"}
    return {"@odata.id": f"{ROOT}/Registries/Simulated.1.0", **about, "RegistryEntries": entries}


def _below(kind: str, *names: str) -> Callable[[Machine], Data]:
    owner, _, last = kind.partition("/")

    def listing(machine: Machine) -> Data:
        path = f"{ROOT}/{owner}/{machine.uuid}/{last}"
        return collection(path, [f"{path}/{name}" for name in names])

    return listing


RESOURCES: Mapping[tuple[str, str], Callable[[Machine], Data]] = {
    ("Systems", ""): system,
    ("Systems", "SecureBoot"): secure_boot,
    ("Systems", "Bios"): bios,
    ("Systems", "Bios/Settings"): pending_bios,
    ("Systems", "EthernetInterfaces"): _below("Systems/EthernetInterfaces", "1"),
    ("Systems", "EthernetInterfaces/1"): network_card,
    ("Managers", ""): manager,
    ("Managers", "VirtualMedia"): _below("Managers/VirtualMedia", *_MEDIA_TYPES),
    **{("Managers", f"VirtualMedia/{name}"): partial(drive, name=name) for name in _MEDIA_TYPES},
    ("Chassis", ""): chassis,
    ("UpdateService/FirmwareInventory", ""): firmware,
}
"""What is shown at the collection and, below the machine's UUID, the rest of a path."""


def etag(machine: Machine) -> str:
    """Return the ETag of all resources of a machine as they are now."""
    return f'W/"{machine.version}"'


def _head(path: str, machine: Machine, name: str) -> Data:
    return {"@odata.id": path, "@odata.etag": etag(machine), "Id": path.rpartition("/")[2], "Name": name}

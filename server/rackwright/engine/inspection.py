# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What an inspection report changes: each hook is a small pure function from the report to changes.

Hooks run in the order of the setting ``inspection_hooks``; each sees what those before it changed. All of them run even
when one fails, so that an operator reads every failure at once; then nothing of it is applied. Inspection rules run
after them (``inspection_rules``). Source: ``contract/engine.md`` section 9.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType
from typing import Any, Literal

from rackwright.domain.errors import Invalid, OperationFailed
from rackwright.engine.inventory import Note, identifying, is_logical, mac, usable_disks
from rackwright.engine.root_device import HintInvalid, choose

Json = Mapping[str, Any]
_GIB = 1024**3


class HookFailed(Exception):
    """A hook cannot do its work with this report; the text says why."""


class InspectionFailed(OperationFailed):
    """The inspection report was refused: {cause}."""


class UnknownHook(Invalid):
    """Setting inspection_hooks names {name}; known hooks: {known}."""


@dataclass(frozen=True, slots=True)
class InspectionOptions:
    """How reports are evaluated; the settings of the same names explain them."""

    inspection_hooks: tuple[str, ...] = ("ramdisk-error", "validate-interfaces", "ports", "architecture")
    add_ports: Literal["all", "active", "pxe", "disabled"] = "pxe"
    keep_ports: Literal["all", "present", "added"] = "all"
    update_pxe_enabled: bool = True

    @classmethod
    def of(cls, settings: object) -> InspectionOptions:
        """Take the options out of the settings of the daemon; raise UnknownHook."""
        return cls(**{each.name: getattr(settings, each.name) for each in fields(cls)})

    def __post_init__(self) -> None:
        for name in self.inspection_hooks:
            if name not in HOOKS:
                raise UnknownHook(name=name, known=", ".join(HOOKS))


@dataclass(frozen=True, slots=True)
class PortFacts:
    """A port, as a hook sees it or wants it."""

    address: str
    pxe_enabled: bool = True
    extra: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Subject:
    """What hooks look at: the report, the node's properties and instance_info, its ports, and the options."""

    inventory: Json
    plugin_data: Json
    properties: Json
    instance_info: Json
    ports: Sequence[PortFacts]
    options: InspectionOptions


@dataclass(frozen=True, slots=True)
class Changes:
    """What a hook wants: values to merge into properties, capabilities and plugin data, and what becomes of ports."""

    properties: Json = field(default_factory=dict)
    capabilities: Mapping[str, str] = field(default_factory=dict)
    plugin_data: Json = field(default_factory=dict)
    new_ports: tuple[PortFacts, ...] = ()
    pxe_enabled: Mapping[str, bool] = field(default_factory=dict)
    gone_ports: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()

    def __add__(self, later: Changes) -> Changes:
        """Return both; of two values for one key the later one counts."""
        return Changes(
            {**self.properties, **later.properties},
            {**self.capabilities, **later.capabilities},
            {**self.plugin_data, **later.plugin_data},
            self.new_ports + later.new_ports,
            {**self.pxe_enabled, **later.pxe_enabled},
            self.gone_ports + later.gone_ports,
            self.notes + later.notes,
        )


Hook = Callable[[Subject], Changes]
Stages = Sequence[tuple[str, Hook]]


def stages(options: InspectionOptions) -> Stages:
    """Return the hooks that the options name, in their order."""
    return [(name, HOOKS[name]) for name in options.inspection_hooks]


def evaluate(row: Stages, subject: Subject) -> Changes:
    """Return the changes of all stages; raise InspectionFailed with the text of every stage that failed."""
    total, failures = Changes(), []
    for name, hook in row:
        try:
            changes = hook(subject)
        except HookFailed as failure:
            failures.append(f"{name}: {failure}")
            continue
        total += changes
        subject = _after(subject, changes)
    if failures:
        raise InspectionFailed(
            attempted="Evaluating the inspection report",
            cause="; ".join(failures),
            action="Correct what the texts name and inspect the node again.",
        )
    return total


def _after(subject: Subject, changes: Changes) -> Subject:
    properties = {**subject.properties, **changes.properties}
    if changes.capabilities:
        properties["capabilities"] = with_capabilities(properties.get("capabilities"), changes.capabilities)
    return replace(subject, properties=properties, plugin_data={**subject.plugin_data, **changes.plugin_data})


def with_capabilities(text: object, new: Mapping[str, str]) -> str:
    """Return capabilities text ``k:v,k2:v2`` with ``new`` merged in."""
    pairs = (part.split(":", 1) for part in text.split(",")) if isinstance(text, str) else ()
    known = {pair[0].strip(): pair[1].strip() for pair in pairs if len(pair) == 2}
    return ",".join(f"{key}:{value}" for key, value in {**known, **new}.items())


def _ramdisk_error(subject: Subject) -> Changes:
    """Fail with the error that the ramdisk met."""
    if error := subject.plugin_data.get("error"):
        raise HookFailed(f"the ramdisk reports: {error}")
    return Changes()


def _validate_interfaces(subject: Subject) -> Changes:
    """Sort out which interfaces are usable and which of them become ports."""
    boot_mac = _boot_mac(subject)
    every = {
        name: {"ipv6_address": None, **each, "mac_address": address, "pxe_enabled": address == boot_mac}
        for each in subject.inventory["interfaces"]
        if isinstance(name := each.get("name"), str) and name and (address := mac(each["mac_address"]))
    }
    valid = {name: each for name, each in every.items() if _wanted(each, subject.options.add_ports, boot_mac)}
    if not valid:
        raise HookFailed(
            f"none of the interfaces ({', '.join(sorted(every)) or 'no usable one'}) fits the setting "
            f"add_ports={subject.options.add_ports}"
        )
    own = set(identifying(each["mac_address"] for each in valid.values()))
    notes = tuple(
        Note(f"interface {name}", "its locally administered address is no identity and makes no port")
        for name, each in valid.items()
        if each["mac_address"] not in own
    )
    valid = {name: each for name, each in valid.items() if each["mac_address"] in own}
    found = {
        "all_interfaces": every,
        "valid_interfaces": valid,
        "macs": [each["mac_address"] for each in valid.values()],
    }
    return Changes(plugin_data=found, notes=notes)


def _boot_mac(subject: Subject) -> str | None:
    boot = subject.inventory.get("boot")
    return mac(boot.get("pxe_interface") if isinstance(boot, dict) else None) or mac(
        subject.plugin_data.get("boot_interface")
    )


def _wanted(interface: Json, add_ports: str, boot_mac: str | None) -> bool:
    addresses = [_address(interface.get(key)) for key in ("ipv4_address", "ipv6_address")]
    if interface["name"] == "lo" or any(each is not None and each.is_loopback for each in addresses):
        return False
    if is_logical(interface):
        return False
    if add_ports == "pxe" and boot_mac:
        return bool(interface["pxe_enabled"])
    return add_ports != "active" or any(addresses)


def _address(text: object) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text) if isinstance(text, str) else None
    except ValueError:
        return None


def _ports(subject: Subject) -> Changes:
    """Create the ports of valid interfaces, drop those that are gone, and mark the one that boots."""
    options = subject.options
    known = {port.address: port for port in subject.ports}
    valid: Sequence[Json] = tuple(subject.plugin_data.get("valid_interfaces", {}).values())
    every: Sequence[Json] = tuple(subject.plugin_data.get("all_interfaces", {}).values())
    boots = {each["mac_address"] for each in every if each["pxe_enabled"]}
    wanted = {each["mac_address"]: each for each in valid if options.add_ports != "disabled"}
    new = tuple(
        PortFacts(address, address in boots or not boots, _client_id(each))
        for address, each in wanted.items()
        if address not in known
    )
    kept = {"all": set(known), "present": {each["mac_address"] for each in every}, "added": set(wanted)}
    gone = tuple(sorted(set(known) - kept[options.keep_ports]))
    marked = {
        address: address in boots
        for address, port in known.items()
        if boots and options.update_pxe_enabled and address not in gone and port.pxe_enabled != (address in boots)
    }
    return Changes(new_ports=new, gone_ports=gone, pxe_enabled=marked)


def _client_id(interface: Json) -> Json:
    identity = interface.get("client_id")
    return {"client-id": identity} if isinstance(identity, str) and identity else {}


def _object(subject: Subject, key: str) -> Json:
    """Return an object of the inventory, empty when it is none."""
    value = subject.inventory.get(key)
    return value if isinstance(value, dict) else {}


def _architecture(subject: Subject) -> Changes:
    """Set properties.cpu_arch."""
    architecture = _object(subject, "cpu").get("architecture")
    if not isinstance(architecture, str) or not architecture:
        raise HookFailed("inventory.cpu.architecture is missing")
    return Changes(properties={"cpu_arch": architecture})


def _memory(subject: Subject) -> Changes:
    """Set properties.memory_mb (MiB)."""
    if not (size := _count(_object(subject, "memory").get("physical_mb"))):
        raise HookFailed("inventory.memory.physical_mb is missing")
    return Changes(properties={"memory_mb": size})


def _cpus(subject: Subject) -> Changes:
    """Set properties.cpus, where the report names them."""
    count = _count(_object(subject, "cpu").get("count"))
    return Changes(properties={"cpus": count}) if count else Changes()


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _boot_mode(subject: Subject) -> Changes:
    """Set capability boot_mode, where the report names it."""
    mode = _object(subject, "boot").get("current_boot_mode")
    return Changes(capabilities={"boot_mode": mode}) if mode in ("bios", "uefi") else Changes()


_FLAGS = MappingProxyType(
    {
        "vmx": "cpu_vt",
        "svm": "cpu_vt",
        "aes": "cpu_aes",
        "pse": "cpu_hugepages",
        "pdpe1gb": "cpu_hugepages_1g",
        "smx": "cpu_txt",
    }
)


def _cpu_capabilities(subject: Subject) -> Changes:
    """Set a capability for each processor flag that the table knows."""
    flags = _object(subject, "cpu").get("flags")
    have = flags if isinstance(flags, list) else []
    return Changes(capabilities={name: "true" for flag, name in _FLAGS.items() if flag in have})


def _root_device(subject: Subject) -> Changes:
    """Find the disk that the node's root device hints mean; set plugin_data.root_disk and properties.local_gb (GiB)."""
    hints = subject.instance_info.get("root_device") or subject.properties.get("root_device")
    if not hints:
        disk = subject.plugin_data.get("root_disk")
        size = disk.get("size") if isinstance(disk, dict) else None
        return Changes(properties={"local_gb": _local_gb(size)})
    try:
        found = choose(usable_disks(subject.inventory), hints)
    except HintInvalid as error:
        raise HookFailed(str(error)) from error
    return Changes(properties={"local_gb": _local_gb(found["size"])}, plugin_data={"root_disk": found})


def _local_gb(size: object) -> int:
    """Return a size for properties: whole GiB, minus one for partitioning."""
    return max(size // _GIB - 1, 0) if isinstance(size, int) else 0


HOOKS: Mapping[str, Hook] = MappingProxyType(
    {
        "ramdisk-error": _ramdisk_error,
        "validate-interfaces": _validate_interfaces,
        "ports": _ports,
        "architecture": _architecture,
        "memory": _memory,
        "cpus": _cpus,
        "boot-mode": _boot_mode,
        "cpu-capabilities": _cpu_capabilities,
        "root-device": _root_device,
    }
)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the BMC modules do: read, compare, and write the difference, unless this is only a check.

Each operation stands here once; the module and the action plugin of its name call it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import wraps
from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.base import (
    BOOT_DEVICES,
    BOOT_MODES,
    DRIVES,
    INDICATOR_STATES,
    POWER_STATES,
    POWER_TARGETS,
    Bmc,
)
from ansible_collections.rackwright.metal.plugins.module_utils._bmc.turn import turn

Data = dict[str, Any]

POWER_ARGUMENTS: Data = {
    "state": {"type": "str", "choices": list(POWER_TARGETS.values()), "required": True},
    "timeout": {"type": "int"},
}
BOOT_DEVICE_ARGUMENTS: Data = {
    "device": {"type": "str", "choices": list(BOOT_DEVICES), "required": True},
    "persistent": {"type": "bool", "default": False},
}
BOOT_MODE_ARGUMENTS: Data = {"mode": {"type": "str", "choices": list(BOOT_MODES), "required": True}}
SECURE_BOOT_ARGUMENTS: Data = {"enabled": {"type": "bool", "required": True}}
INDICATOR_ARGUMENTS: Data = {
    "name": {"type": "str", "required": True},
    "component": {"type": "str", "choices": ["system", "chassis"], "default": "system"},
    "state": {"type": "str", "choices": list(INDICATOR_STATES), "required": True},
}
MEDIA_ARGUMENTS: Data = {
    "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
    "image": {"type": "str"},
    "devices": {"type": "list", "elements": "str", "choices": list(DRIVES), "default": [DRIVES[0]]},
}
MEDIA_RULES: Data = {"required_if": [("state", "present", ("image",))]}
GATHERED = ("power", "health", "system", "boot", "secure_boot", "media", "network")
ON_REQUEST = ("drives", "indicators")
INFO_ARGUMENTS: Data = {
    "gather": {"type": "list", "elements": "str", "choices": [*GATHERED, *ON_REQUEST], "default": list(GATHERED)}
}
TIMEOUT, SOFT_TIMEOUT = 60, 600
"""Seconds to wait for a power state (contract/engine.md section 3)."""


@dataclass(frozen=True)
class Change:
    """What an operation found and did. ``facts`` are for the daemon, in the API's words."""

    changed: bool
    before: Data = field(default_factory=dict)
    after: Data = field(default_factory=dict)
    facts: Data = field(default_factory=dict)

    def diff(self) -> Data:
        """Return the difference in the form that Ansible shows."""
        return {"before": self.before, "after": self.after} if self.before else {}


Operation = Callable[..., Change]


def in_turn(operation: Operation) -> Operation:
    """Let an operation wait until nobody else on this host changes the machine; a check changes nothing."""

    @wraps(operation)
    def alone(bmc: Bmc, params: Data, *, check: bool) -> Change:
        if check:
            return operation(bmc, params, check=True)
        with turn(bmc.machine) as waited:
            if waited:
                bmc.forget()
            return operation(bmc, params, check=False)

    return alone


@in_turn
def set_power(bmc: Bmc, params: Data, *, check: bool) -> Change:
    """Bring the machine to a power state; a reboot is always one, and turns on a machine that is off."""
    state = params["state"]
    goal = "off" if state.endswith("off") else "on"
    before = bmc.power_state()
    changes = state.endswith("reboot") or before != goal
    if changes and not check:
        bmc.set_power_state(state, params["timeout"] or (SOFT_TIMEOUT if state.startswith("soft") else TIMEOUT))
    return Change(changes, {"power_state": before}, {"power_state": goal}, facts={"power_state": POWER_STATES[goal]})


@in_turn
def set_boot_device(bmc: Bmc, params: Data, *, check: bool) -> Change:
    """Choose what the machine boots from."""
    wanted = {"device": params["device"], "persistent": params["persistent"]}
    boot = bmc.boot()
    before = {"device": boot.device, "persistent": boot.persistent}
    if before != wanted and not check:
        bmc.set_boot_device(wanted["device"], persistent=wanted["persistent"])
    told = {"boot_device": wanted["device"], "persistent": wanted["persistent"]}
    return Change(before != wanted, before, wanted, facts={"boot_device": told})


@in_turn
def set_boot_mode(bmc: Bmc, params: Data, *, check: bool) -> Change:
    """Choose the mode that the machine boots in."""
    mode = params["mode"]
    before = bmc.boot().mode
    if before != mode and not check:
        bmc.set_boot_mode(mode)
    return Change(before != mode, {"mode": before}, {"mode": mode}, facts={"boot_mode": mode})


@in_turn
def set_secure_boot(bmc: Bmc, params: Data, *, check: bool) -> Change:
    """Choose whether the machine boots signed software only."""
    wanted = params["enabled"]
    before = bmc.next_secure_boot()
    if before != wanted and not check:
        bmc.set_secure_boot(wanted)
    return Change(before != wanted, {"enabled": before}, {"enabled": wanted}, facts={"secure_boot": wanted})


@in_turn
def interrupt(bmc: Bmc, _params: Data, *, check: bool) -> Change:
    """Interrupt the machine; nothing can tell whether it was before."""
    if not check:
        bmc.interrupt()
    return Change(changed=True)


@in_turn
def set_indicator(bmc: Bmc, params: Data, *, check: bool) -> Change:
    """Bring a light into a state."""
    name, component, wanted = params["name"], params["component"], params["state"]
    known = {(each.name, each.component): each.state for each in bmc.indicators()}
    before = known.get((name, component), "absent")
    if before != wanted and not check:
        bmc.set_indicator(name, component, wanted)
    return Change(before != wanted, {"state": before}, {"state": wanted})


@in_turn
def set_media(bmc: Bmc, params: Data, *, check: bool) -> Change:
    """Insert an image into a virtual drive, or empty the drives."""
    wanted = params["image"] if params["state"] == "present" else None
    before = bmc.media(wanted, devices=params["devices"]).image
    if before != wanted and not check:
        if wanted is None:
            bmc.eject(devices=params["devices"])
        else:
            bmc.insert(wanted, devices=params["devices"])
    return Change(before != wanted, {"image": before}, {"image": wanted})


def read_info(bmc: Bmc, params: Data, **_check: bool) -> Change:
    """Read what is asked for, in as few requests as it takes."""
    found: Data = {}
    facts: Data = {}
    for topic in params["gather"]:
        told, known = _READERS[topic](bmc)
        found |= told
        facts |= known
    return Change(changed=False, after=found, facts=facts)


def _read_power(bmc: Bmc) -> tuple[Data, Data]:
    state = bmc.power_state()
    return {"power_state": state}, {"power_state": POWER_STATES[state]}


def _read_health(bmc: Bmc) -> tuple[Data, Data]:
    health = bmc.health()
    return {"health": health}, {"health": health} if health else {}


def _read_system(bmc: Bmc) -> tuple[Data, Data]:
    facts = bmc.facts()
    known = {"vendor": facts.manufacturer, "model": facts.model}
    return {"system": asdict(facts)}, {name: value for name, value in known.items() if value}


def _read_boot(bmc: Bmc) -> tuple[Data, Data]:
    boot = bmc.boot()
    facts: Data = {
        "boot_device": {"boot_device": boot.device, "persistent": boot.persistent},
        "supported_boot_devices": list(boot.supported),
    }
    found = {**asdict(boot), "supported": list(boot.supported)}
    return {"boot": found}, {**facts, **({"boot_mode": boot.mode} if boot.mode else {})}


def _read_secure_boot(bmc: Bmc) -> tuple[Data, Data]:
    state = bmc.secure_boot()
    return {"secure_boot": state}, {} if state is None else {"secure_boot": state}


def _read_drives(bmc: Bmc) -> tuple[Data, Data]:
    found = [{**asdict(each), "device_types": list(each.device_types)} for each in bmc.drives()]
    return {"drives": found}, {"virtual_media": found}


def _read_indicators(bmc: Bmc) -> tuple[Data, Data]:
    found = [{**asdict(each), "states": list(each.states)} for each in bmc.indicators()]
    return {"indicators": found}, {"indicators": found}


_READERS: dict[str, Callable[[Bmc], tuple[Data, Data]]] = {
    "power": _read_power,
    "health": _read_health,
    "system": _read_system,
    "boot": _read_boot,
    "secure_boot": _read_secure_boot,
    "media": lambda bmc: ({"media": asdict(bmc.media())}, {}),
    "network": lambda bmc: ({"macs": bmc.macs()}, {}),
    "drives": _read_drives,
    "indicators": _read_indicators,
}

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the steps of the role ``fake`` do: nothing to any machine, and everything else as if there were one.

Source: contract/fake-hardware.md.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._errors import NotOfferedError, OperationError

Data = dict[str, Any]

ARGUMENTS: Data = {
    "name": {"type": "str", "required": True},
    "interface": {"type": "str", "required": True},
    "args": {"type": "dict", "default": {}},
    "driver_info": {"type": "dict", "default": {}},
    "power_state": {"type": "str"},
    "delay": {"type": "str", "default": "0"},
}
POWER_AFTER = {
    "power on": "power on",
    "power off": "power off",
    "rebooting": "power on",
    "soft power off": "power off",
    "soft rebooting": "power on",
}
"""Target of a power action to the power state after it."""

BOOT_DEVICES = ["pxe"]
INDICATORS: tuple[Data, ...] = (
    {"name": "led-0", "component": "chassis", "readonly": True, "states": ["off", "on"], "state": "on"},
    {"name": "led", "component": "system", "readonly": False, "states": ["blinking", "off", "on"], "state": "on"},
)
METHODS = {"second_method": "kazoo", "third_method_sync": "meow", "fourth_method_shared_lock": "woof"}
"""Vendor method to the value of its argument ``bar`` that makes its result true."""


def act(params: Data) -> Data:
    """Take the step ``name`` of ``interface`` and return the facts it finds out; raise OperationError when told to.

    ``driver_info`` may hold ``fake_<interface>_delay`` or ``fake_delay`` (seconds; two numbers with a comma: a random
    time between them, weighted on the first), and ``fake_fail``, the name of the step that fails;
    where it holds no time, ``delay`` is the one.
    """
    name, interface, info = params["name"], params["interface"], params["driver_info"]
    time.sleep(_delay(info.get(f"fake_{interface}_delay", info.get("fake_delay", params["delay"]))))
    if info.get("fake_fail") in (name, f"{interface}.{name}"):
        raise OperationError(
            f"take the step {interface}.{name}", "driver_info/fake_fail asks for this failure.", "Remove fake_fail."
        )
    return _FACTS[name](params) if name in _FACTS else {}


def _delay(setting: object) -> float:
    try:
        shortest, _comma, longest = str(setting).partition(",")
        delay = random.triangular(float(shortest), float(longest or shortest), float(shortest))
        if not 0 <= delay < float("inf"):
            raise ValueError(setting)
        return delay
    except ValueError as error:
        raise OperationError(
            "wait for the fake delay",
            f"{setting!r} is no number of seconds, nor two with a comma between them.",
            "Correct fake_delay in driver_info, or the setting fake_delays.",
        ) from error


def _read_power(params: Data) -> Data:
    return {"power_state": params["power_state"] or "power off"}


def _set_power(params: Data) -> Data:
    target = params["args"].get("target")
    if target not in POWER_AFTER:
        raise OperationError(
            "set the power state", f"The target {target!r} is none.", f"Choose one of {', '.join(POWER_AFTER)}."
        )
    return {"power_state": POWER_AFTER[target]}


def _set_boot_device(params: Data) -> Data:
    device = params["args"].get("boot_device")
    if device not in BOOT_DEVICES:
        raise NotOfferedError(
            "set the boot device", f"Fake hardware cannot boot from {device!r}.", "Choose the boot device pxe."
        )
    return {"boot_device": {"boot_device": device, "persistent": bool(params["args"].get("persistent"))}}


def _store_bios(params: Data) -> Data:
    settings = params["args"].get("settings")
    try:
        return {"bios_settings": [{"name": str(each["name"]), "value": each["value"]} for each in settings]}
    except (TypeError, KeyError) as error:
        raise OperationError(
            "apply the BIOS settings",
            "The argument settings is no list of objects with name and value.",
            "Correct the arguments of the step.",
        ) from error


def _flash(params: Data) -> Data:
    settings = params["args"].get("settings")
    try:
        versions = {str(each["component"]): str(each["url"]).rpartition("/")[2] for each in settings}
    except (TypeError, KeyError) as error:
        raise OperationError(
            "update the firmware",
            "The argument settings is no list of objects with component and url.",
            "Correct the arguments of the step.",
        ) from error
    told = [
        {"component": name, "current_version": version, "last_version_flashed": version}
        for name, version in versions.items()
    ]
    return {"firmware_components": told}


def _set_indicator(params: Data) -> Data:
    wanted = params["args"]
    name, component, state = (wanted.get(key) for key in ("indicator", "component", "state"))
    for each in INDICATORS:
        if (each["name"], each["component"]) == (name, component) and not each["readonly"] and state in each["states"]:
            return {}
    raise NotOfferedError(
        f"set the indicator {name}@{component} to {state}",
        "Fake hardware has no such indicator that can be set, or it has no such state.",
        "Choose led@system, and one of the states blinking, off and on.",
    )


def _call(params: Data) -> Data:
    return {"result": params["args"].get("bar") == METHODS[params["name"]]}


_FACTS: dict[str, Callable[[Data], Data]] = {
    "read_power_state": _read_power,
    "power_on": lambda _: {"power_state": "power on"},
    "power_off": lambda _: {"power_state": "power off"},
    "set_power_state": _set_power,
    "get_boot_device": lambda _: {"boot_device": {"boot_device": "pxe", "persistent": False}},
    "set_boot_device": _set_boot_device,
    "get_supported_boot_devices": lambda _: {"supported_boot_devices": BOOT_DEVICES},
    "apply_configuration": _store_bios,
    "factory_reset": lambda _: {"bios_settings": []},
    "update": _flash,
    "set_boot_mode": lambda params: {"boot_mode": params["args"].get("boot_mode")},
    "set_secure_boot": lambda params: {"secure_boot": params["args"].get("secure_boot")},
    "get_indicators": lambda _: {"indicators": list(INDICATORS)},
    "set_indicator": _set_indicator,
    **dict.fromkeys(METHODS, _call),
}

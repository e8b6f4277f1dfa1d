# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lights of a Redfish system and of the chassis that it is in.

Older BMCs have ``IndicatorLED`` with three states, newer ones ``LocationIndicatorActive``, which is on or off; some
have both and take one of them only.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.base import INDICATOR_STATES, Indicator
from ansible_collections.rackwright.metal.plugins.module_utils._bmc.redfish_service import (
    Service,
    link,
)
from ansible_collections.rackwright.metal.plugins.module_utils._errors import NotOfferedError, OperationError

Data = dict[str, Any]

LED, ACTIVE = "IndicatorLED", "LocationIndicatorActive"
ALLOWED = f"{LED}@Redfish.AllowableValues"
WORDS = {"on": "Lit", "off": "Off", "blinking": "Blinking"}
"""Our name of a state to that of Redfish."""

READ_BACK = 5.0
"""Seconds after which the BMC must show what it has accepted."""


class Indicators:
    """Read and write the lights of one system."""

    def __init__(self, service: Service, path: str, system: Data) -> None:
        self._service = service
        self._path = path
        self._system = system

    def listed(self) -> list[Indicator]:
        """Return the lights."""
        return [indicator for _path, indicator, _resource in self._found()]

    def set(self, name: str, component: str, state: str) -> None:
        """Bring a light into a state, and see that it is in it."""
        for path, indicator, resource in self._found():
            if (indicator.name, indicator.component) == (name, component):
                self._write(path, indicator, resource, state)
                return
        names = ", ".join(f"{each.name} of {each.component}" for each in self.listed())
        raise NotOfferedError(
            f"set the indicator {name} of {component} (BMC {self._service.base})",
            "The BMC has no such indicator.",
            f"Choose one of: {names or 'none, which means that this BMC has no indicators'}.",
        )

    def _found(self) -> Iterator[tuple[str, Indicator, Data]]:
        for component, path, resource in self._resources():
            if _tells(resource, LED) or _tells(resource, ACTIVE):
                name = str(resource.get("Id") or path.rstrip("/").rpartition("/")[2])
                yield path, Indicator(name, component, _state(resource), _states(resource)), resource

    def _resources(self) -> Iterator[tuple[str, str, Data]]:
        yield "system", self._path, self._system
        for item in (self._system.get("Links") or {}).get("Chassis") or ():
            if path := link(item):
                yield "chassis", path, self._service.find(path)

    def _write(self, path: str, indicator: Indicator, resource: Data, state: str) -> None:
        attempted = f"set the indicator {indicator.name} of {indicator.component} to {state} (BMC {self._service.base})"
        if state not in indicator.states:
            raise NotOfferedError(
                attempted, "The light has no such state.", f"Choose one of {', '.join(indicator.states)}."
            )
        self._service.patch_with_first(path, *_bodies(resource, state))
        if not self._shows(path, state):
            raise OperationError(
                attempted,
                f"The BMC accepted it, but still shows {_state(self._service.get(path))} after {READ_BACK:.0f} s.",
                "Look at the machine; the BMC may have a fault light that it does not give up.",
            )

    def _shows(self, path: str, state: str) -> bool:
        end = time.monotonic() + READ_BACK
        while not _agrees(self._service.get(path), state):
            if time.monotonic() >= end:
                return False
            time.sleep(0.5)
        return True


def _tells(resource: Data, key: str) -> bool:
    """Return whether a BMC has this kind of light; some show those that they lack as null."""
    return resource.get(key) is not None


def _state(resource: Data) -> str:
    led = resource.get(LED)
    found = next((ours for ours, theirs in WORDS.items() if theirs == led), None)
    if found is None and isinstance(resource.get(ACTIVE), bool):
        found = "on" if resource[ACTIVE] else "off"
    return found or "unknown"


def _states(resource: Data) -> tuple[str, ...]:
    if not _tells(resource, LED):
        return ("on", "off")
    allowed = resource.get(ALLOWED)
    return tuple(state for state in INDICATOR_STATES if not allowed or WORDS[state] in allowed)


def _bodies(resource: Data, state: str) -> list[Data]:
    """Return the forms in which a state can be asked for, the plainer one first."""
    forms: list[Data] = [{LED: WORDS[state]}] if _tells(resource, LED) else []
    return [*forms, {ACTIVE: state == "on"}] if _tells(resource, ACTIVE) and state != "blinking" else forms


def _agrees(resource: Data, state: str) -> bool:
    return _state(resource) == state or (state != "blinking" and resource.get(ACTIVE) is (state == "on"))

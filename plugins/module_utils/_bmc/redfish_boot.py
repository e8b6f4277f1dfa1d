# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The boot override of a Redfish system, in whichever place and form this BMC takes it.

Some BMCs keep it in the resource for pending settings, some show such a resource and do not mean it; some want the
fields target, enabled and mode together, some refuse one of them and apply the others all the same. So we begin with
what is asked for, try other forms when it is refused, and believe what the BMC shows afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.base import Boot
from ansible_collections.rackwright.metal.plugins.module_utils._bmc.redfish_errors import detail
from ansible_collections.rackwright.metal.plugins.module_utils._bmc.redfish_service import (
    Service,
    link,
    rejects,
)
from ansible_collections.rackwright.metal.plugins.module_utils._errors import NotOfferedError, OperationError

Data = dict[str, Any]

TARGETS = {
    "pxe": ("Pxe",),
    "disk": ("Hdd",),
    "cdrom": ("Cd", "UsbCd", "CD/DVD"),
    "usb": ("Usb", "UsbKey"),
    "floppy": ("Floppy", "UsbFloppy"),
    "bios": ("BiosSetup",),
    "uefihttp": ("UefiHttp",),
    "safe": ("Diags",),
}
"""Our name of a device to its names in Redfish, best first."""

CD_IS_USB = ("supermicro",)
"""Manufacturers whose virtual CD drive is on USB: with Cd, X11 and X12 boards look for a drive of their own."""

MODES = {"uefi": "UEFI", "bios": "Legacy"}
TARGET, ENABLED, MODE = "BootSourceOverrideTarget", "BootSourceOverrideEnabled", "BootSourceOverrideMode"
ALLOWED = f"{TARGET}@Redfish.AllowableValues"
READ_BACK = 5.0
"""Seconds after which the BMC must show what it has accepted."""


class BootOverride:
    """Read and write what a system boots from."""

    def __init__(self, service: Service, path: str, system: Data) -> None:
        self._service = service
        self._path = path
        self._manufacturer = str(system.get("Manufacturer") or "").lower()
        self._settings = link((system.get("@Redfish.Settings") or {}).get("SettingsObject"))
        self.system = system
        """The system as it was read last."""
        self._places = self._read(system)

    def _read(self, system: Data) -> dict[str, Data]:
        """Return the Boot objects by path: that of the pending settings first, where it exists and holds any."""
        pending = self._service.find(self._settings).get("Boot") or {}
        first = {self._settings: pending} if self._settings and pending.keys() & {TARGET, ENABLED, ALLOWED} else {}
        return {**first, self._path: system.get("Boot") or {}}

    def _get(self, key: str) -> Any:
        return next((boot[key] for boot in self._places.values() if boot.get(key) is not None), None)

    def current(self) -> Boot:
        """Return what is set now."""
        names = {name: device for device, targets in TARGETS.items() for name in targets}
        active = next((boot for boot in self._places.values() if boot.get(ENABLED) not in (None, "Disabled")), {})
        mode = self._get(MODE)
        return Boot(
            device=names.get(str(active.get(TARGET))),
            persistent=active.get(ENABLED) == "Continuous",
            mode=next((ours for ours, theirs in MODES.items() if theirs == mode), None),
            supported=tuple(device for device in TARGETS if self._target(device)),
        )

    def _target(self, device: str) -> str | None:
        """Return what this BMC calls a device; None = it cannot boot from one."""
        allowed = self._get(ALLOWED)
        names = [name for name in TARGETS[device] if not allowed or name in allowed]
        if allowed and "UsbCd" in names and self._manufacturer in CD_IS_USB:
            return "UsbCd"
        return names[0] if names else None

    def set_device(self, device: str, *, persistent: bool) -> str | None:
        """Choose a device; return what the operator should hear of, None when there is nothing."""
        target = self._target(device)
        if target is None:
            raise NotOfferedError(
                f"boot from {device}",
                f"The BMC offers only {', '.join(self.current().supported) or 'no boot device'}.",
                "Choose one of these.",
            )
        return self._write({TARGET: target, ENABLED: "Continuous" if persistent else "Once"})

    def set_mode(self, mode: str) -> str | None:
        """Choose a boot mode; return what the operator should hear of, None when there is nothing."""
        return self._write({MODE: MODES[mode]})

    def _write(self, wanted: Data) -> str | None:
        refusal: Exception | None = None
        for path, body in self._attempts(wanted):
            accepted = True
            try:
                self._service.patch(path, {"Boot": body})
            except Exception as error:
                if not rejects(error):
                    raise
                accepted, refusal = False, error
            if self._shows(wanted, patient=accepted):
                return (
                    f"The BMC refused a form of the boot override, but it is set now: {detail(refusal)}."
                    if refusal
                    else None
                )
        if refusal is not None:
            raise refusal
        raise OperationError(
            "change the boot override",
            f"The BMC accepted it, but still shows {self._summary()} after {READ_BACK:.0f} s.",
            "Check whether the BIOS or the BMC forbids overrides, and set the boot order by hand.",
        )

    def _attempts(self, wanted: Data) -> Iterator[tuple[str, Data]]:
        """Yield where to send which fields: those asked for, then all three, then the essential one alone."""
        triple = {TARGET: self._get(TARGET) or "None", ENABLED: self._get(ENABLED) or "Disabled", **wanted}
        mode = wanted.get(MODE) or self._get(MODE)
        full = {**triple, **({MODE: mode} if mode else {})}
        first, *_more = wanted
        sent: list[Data] = []
        for body in (wanted, full, {first: wanted[first]}):
            if body not in sent:
                sent.append(body)
                yield from ((path, body) for path in list(self._places))

    def _shows(self, wanted: Data, *, patient: bool) -> bool:
        end = time.monotonic() + (READ_BACK if patient else 0)
        while True:
            self.system = self._service.get(self._path)
            self._places = self._read(self.system)
            if any(_agrees(boot, wanted) for boot in self._places.values()):
                return True
            if time.monotonic() >= end:
                return False
            time.sleep(0.5)

    def _summary(self) -> str:
        return ", ".join(f"{key} {self._get(key)}" for key in (TARGET, ENABLED, MODE))


def _agrees(boot: Data, wanted: Data) -> bool:
    """Return whether a Boot object shows what is wanted; for how long is up to the BMC, as long as it is active."""
    if boot.get(ENABLED) == "Disabled" and ENABLED in wanted:
        return False
    if wanted.get(ENABLED) == "Continuous" and boot.get(ENABLED, "Continuous") != "Continuous":
        return False
    return all(boot.get(key) == value for key, value in wanted.items() if key != ENABLED)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""BMCs that speak Redfish."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.base import (
    DRIVES,
    HEALTHS,
    Bmc,
    Boot,
    Drive,
    Facts,
    Indicator,
    Media,
)
from ansible_collections.rackwright.metal.plugins.module_utils._bmc.redfish_boot import BootOverride
from ansible_collections.rackwright.metal.plugins.module_utils._bmc.redfish_indicators import Indicators
from ansible_collections.rackwright.metal.plugins.module_utils._bmc.redfish_media import Drives
from ansible_collections.rackwright.metal.plugins.module_utils._bmc.redfish_secure_boot import SecureBoot
from ansible_collections.rackwright.metal.plugins.module_utils._bmc.redfish_service import (
    Service,
    link,
    members,
    rejects,
)
from ansible_collections.rackwright.metal.plugins.module_utils._errors import NotOfferedError, OperationError

Data = dict[str, Any]

POWER = {"On": "on", "PoweringOff": "on", "Paused": "on", "Off": "off", "PoweringOn": "off"}
RESETS = {
    "on": ("On", "ForceOn", "PushPowerButton"),
    "off": ("ForceOff",),
    "reboot": ("ForceRestart", "PowerCycle"),
    "soft_off": ("GracefulShutdown",),
    "soft_reboot": ("GracefulRestart",),
    "interrupt": ("Nmi",),
}
"""What we want to the reset types of Redfish that do it, best first."""

RESET = "#ComputerSystem.Reset"
INTERVAL = 0.5
"""Seconds from a change of the power to the first look at it; from one look to the next one half as much longer."""

LONGEST_INTERVAL = 3.0

FRESH = 5.0
"""Seconds for which a system that was read counts as it is now, unless we have changed it since."""

_MAC = re.compile(r"([0-9a-f]{2}:){5}[0-9a-f]{2}")


@contextmanager
def connect(params: Mapping[str, Any]) -> Iterator[Bmc]:
    """Log in, give the system that ``params`` name, and log out."""
    service = Service(params)
    try:
        yield RedfishBmc(service, params["system_id"])
    finally:
        service.close()


class RedfishBmc(Bmc):
    """One system of a Redfish service."""

    def __init__(self, service: Service, system_id: str | None) -> None:
        super().__init__()
        self._service = service
        with service.attempting("find the system"):
            self._path, self._system = self._find(system_id)
        self._read_at = time.monotonic()
        self._seen: dict[tuple[str, ...], Drives] = {}

    @property
    def machine(self) -> str:
        """Return the address of the service with the path of the system."""
        return f"{self._service.base.lower()}{self._path.rstrip('/')}"

    def forget(self) -> None:
        """Read the system anew."""
        with self._service.attempting("read the system"):
            self._read()
        self._seen = {}

    def _find(self, system_id: str | None) -> tuple[str, Data]:
        if system_id and system_id.startswith("/") and (system := self._service.find(system_id, absent=(404,))):
            return system_id, system
        collection = link(self._service.root.json.get("Systems"))
        paths = members(self._service.find(collection, absent=(404,)))
        wanted = str(system_id or "").strip("/")
        chosen = [path for path in paths if not wanted or wanted in (path.strip("/"), path.strip("/").split("/")[-1])]
        if len(chosen) != 1:
            cause = f"The BMC has no system {system_id}." if wanted else f"The BMC has {len(paths)} systems."
            offered = ", ".join(paths) or "none, which means that the BMC is not ready yet"
            raise OperationError(
                f"find the system (BMC {self._service.base})",
                cause,
                f"Set redfish_system_id (a module's system_id) to one of: {offered}.",
            )
        return chosen[0], self._service.get(chosen[0])

    def _look(self) -> Data:
        """Return the system as it is now."""
        if time.monotonic() - self._read_at > FRESH:
            self._read()
        return self._system

    def _read(self) -> None:
        self._system, self._read_at = self._service.get(self._path), time.monotonic()

    def _has_changed(self) -> None:
        """Let the next look be a new one."""
        self._read_at = -math.inf

    def power_state(self) -> str:
        """Read it from the system."""
        with self._service.attempting("read the power state"):
            self._look()
        return POWER.get(str(self._system.get("PowerState")), "unknown")

    def health(self) -> str | None:
        """Read it from the system."""
        with self._service.attempting("read the health"):
            return health_of(self._look())

    def set_power_state(self, target: str, timeout: float) -> None:
        """Reset the system in the first way that it offers and that leads there."""
        with self._service.attempting(f"set the power state to {target}"):
            if target.endswith("reboot") and self._offered(target) and self.power_state() == "on":
                self._reset(target)
                self._expect("on", timeout)
                return
            if target.startswith("soft"):
                self._shut_down(timeout)
            if target != "on":
                self._reach("off", timeout)
            if not target.endswith("off"):
                self._reach("on", timeout)

    def _shut_down(self, timeout: float) -> None:
        """Ask the operating system; whether it obeys is seen later."""
        if self._offered("soft_off") and self.power_state() != "off":
            self._reset("soft_off")
            if not self._arrives("off", timeout):
                self.notes.append(f"The system did not shut down within {timeout:.0f} s, so its power was cut.")

    def _reach(self, state: str, timeout: float) -> None:
        if self.power_state() == state:
            return
        try:
            self._reset(state)
        except Exception as error:
            if not (rejects(error) and self._arrives(state, INTERVAL)):  # some BMCs complain when it is so already
                raise
        self._expect(state, timeout)

    def _reset(self, target: str) -> None:
        offered = self._offered(target)
        if not offered:
            raise NotOfferedError(
                f"do the reset {target} (BMC {self._service.base})",
                f"The BMC offers only {', '.join(self._allowed()) or 'nothing'}.",
                "Do it at the machine, or update the BMC's firmware.",
            )
        self._has_changed()
        self._service.post(self._action()["target"], {"ResetType": offered[0]})

    def _action(self) -> Data:
        action = (self._system.get("Actions") or {}).get(RESET) or {}
        return action if action.get("target") else {"target": f"{self._path.rstrip('/')}/Actions/ComputerSystem.Reset"}

    def _allowed(self) -> Sequence[str]:
        """Return the reset types that the BMC says it takes; nothing when it does not say."""
        action = self._action()
        if values := action.get("ResetType@Redfish.AllowableValues"):
            return list(values)
        info = self._service.find(action.get("@Redfish.ActionInfo"))
        parameters = {item.get("Name"): item.get("AllowableValues") for item in info.get("Parameters") or ()}
        return list(parameters.get("ResetType") or ())

    def _offered(self, target: str) -> list[str]:
        allowed = self._allowed()
        return [name for name in RESETS[target] if not allowed or name in allowed]

    def _expect(self, state: str, timeout: float) -> None:
        if not self._arrives(state, timeout):
            raise OperationError(
                f"set the power state to {state} (BMC {self._service.base})",
                f"The BMC accepted it, but the machine is still {self.power_state()} after {timeout:.0f} s.",
                "Look at the machine's console and at the BMC's log; a longer timeout may do.",
            )

    def _arrives(self, state: str, timeout: float) -> bool:
        end, pause = time.monotonic() + timeout, INTERVAL
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(pause, left))
            self._has_changed()
            if self.power_state() == state:
                return True
            pause = min(pause * 1.5, LONGEST_INTERVAL)
        return False

    def _override(self) -> BootOverride:
        return BootOverride(self._service, self._path, self._look())

    def boot(self) -> Boot:
        """Read the boot override."""
        with self._service.attempting("read the boot device"):
            return self._override().current()

    def set_boot_device(self, device: str, *, persistent: bool) -> None:
        """Write the boot override."""
        with self._service.attempting(f"set the boot device to {device}"):
            self._change_override(lambda override: override.set_device(device, persistent=persistent))

    def set_boot_mode(self, mode: str) -> None:
        """Write the mode of the boot override."""
        with self._service.attempting(f"set the boot mode to {mode}"):
            self._change_override(lambda override: override.set_mode(mode))

    def _change_override(self, change: Callable[[BootOverride], str | None]) -> None:
        override = self._override()
        self._has_changed()
        self._note(change(override))
        self._system, self._read_at = override.system, time.monotonic()

    def _note(self, text: str | None) -> None:
        if text:
            self.notes.append(text)

    def secure_boot(self) -> bool | None:
        """Read it, where the system has such a resource."""
        with self._service.attempting("read whether secure boot is on"):
            return SecureBoot(self._service, self._system).current()

    def next_secure_boot(self) -> bool | None:
        """Read it, where the system has such a resource."""
        with self._service.attempting("read whether secure boot will be on"):
            return SecureBoot(self._service, self._system).enabled()

    def set_secure_boot(self, enabled: bool) -> None:
        """Switch it, and read it back."""
        with self._service.attempting(f"switch secure boot {'on' if enabled else 'off'}"):
            self._note(SecureBoot(self._service, self._system).set(enabled))

    def interrupt(self) -> None:
        """Reset the system in the way that is no reset."""
        with self._service.attempting("interrupt the system"):
            self._reset("interrupt")

    def _drives(self, devices: Sequence[str]) -> Drives:
        return Drives(self._service, self._system, devices)

    def _drives_seen(self, devices: Sequence[str]) -> Drives:
        """Return the drives; those that have just been looked into count as now once."""
        seen, self._seen = self._seen, {}
        return seen.get(tuple(devices)) or self._drives(devices)

    def media(self, expected: str | None = None, *, devices: Sequence[str] = DRIVES[:1]) -> Media:
        """Look into the virtual drives."""
        with self._service.attempting("read the virtual media"):
            drives = self._drives(devices)
            self._seen = {tuple(devices): drives}
            return Media(drives.image(expected))

    def insert(self, url: str, *, devices: Sequence[str] = DRIVES[:1]) -> None:
        """Insert the image, and see that it is in."""
        with self._service.attempting(f"insert {url}"):
            self._drives_seen(devices).insert(url)

    def eject(self, *, devices: Sequence[str] = DRIVES[:1]) -> None:
        """Eject whatever is inserted, and see that it is out."""
        with self._service.attempting("eject the virtual media"):
            self._drives_seen(devices).eject()

    def drives(self) -> list[Drive]:
        """Look at the virtual drives of all kinds."""
        with self._service.attempting("read the virtual drives"):
            return self._drives(DRIVES).listed()

    def indicators(self) -> list[Indicator]:
        """Look at the system and its chassis."""
        with self._service.attempting("read the indicators"):
            return Indicators(self._service, self._path, self._look()).listed()

    def set_indicator(self, name: str, component: str, state: str) -> None:
        """Write it where the light is."""
        with self._service.attempting(f"set the indicator {name} of {component}"):
            indicators = Indicators(self._service, self._path, self._look())
            self._has_changed()
            indicators.set(name, component, state)

    def facts(self) -> Facts:
        """Tell what the system resource holds."""
        keys = {
            "manufacturer": "Manufacturer",
            "model": "Model",
            "serial": "SerialNumber",
            "bios_version": "BiosVersion",
            "uuid": "UUID",
        }
        return Facts(**{ours: str(self._system[key]) for ours, key in keys.items() if self._system.get(key)})

    def macs(self) -> list[str]:
        """Read the network ports, which a BMC need not know; addresses that are none are left out."""
        with self._service.attempting("read the network ports"):
            paths = members(self._service.find(link(self._system.get("EthernetInterfaces"))))
            ports = [self._service.find(path) for path in paths]
        told = [str(port.get("MACAddress") or port.get("PermanentMACAddress") or "") for port in ports]
        macs = [mac.lower().replace("-", ":") for mac in told]
        return sorted({mac for mac in macs if _MAC.fullmatch(mac) and mac != "00:00:00:00:00:00"})


def health_of(system: Data) -> str | None:
    """Return the health of a system with its parts, or else its own; None when the BMC tells neither."""
    status = system.get("Status")
    told = [status.get(key) for key in ("HealthRollup", "Health")] if isinstance(status, dict) else []
    return next((str(word) for word in told if word in HEALTHS), None)

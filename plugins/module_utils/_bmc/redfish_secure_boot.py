# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a Redfish system boots signed software only, now and from the next time on."""

from __future__ import annotations

from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.redfish_service import Service, link
from ansible_collections.rackwright.metal.plugins.module_utils._errors import NotOfferedError

Data = dict[str, Any]
ENABLE, CURRENT, MODE = "SecureBootEnable", "SecureBootCurrentBoot", "SecureBootMode"


class SecureBoot:
    """The resource of that name; systems need not have one."""

    def __init__(self, service: Service, system: Data) -> None:
        self._service = service
        self._path = link(system.get("SecureBoot"))
        self._found = service.find(self._path)

    def current(self) -> bool | None:
        """Return whether this boot was a secure one."""
        current = self._found.get(CURRENT)
        return None if current is None else current == "Enabled"

    def enabled(self) -> bool | None:
        """Return whether the next boot is to be one; some BMCs tell that in their pending settings."""
        settings = link((self._found.get("@Redfish.Settings") or {}).get("SettingsObject"))
        value = self._service.find(settings).get(ENABLE, self._found.get(ENABLE))
        return value if isinstance(value, bool) else None

    def set(self, enabled: bool) -> str | None:
        """Switch it; return what the operator should hear of, None when there is nothing."""
        if self._path is None or ENABLE not in self._found:
            raise NotOfferedError(
                f"switch secure boot {'on' if enabled else 'off'} (BMC {self._service.base})",
                "The BMC does not offer to switch it.",
                "Switch it in the setup program of the machine, or update the BMC's firmware.",
            )
        self._service.patch(self._path, {ENABLE: enabled})
        self._found = self._service.get(self._path)
        if self.enabled() == enabled:
            return None
        mode = self._found.get(MODE) or "unknown"
        return f"The BMC accepted it but does not show it before the next boot; its secure boot mode is {mode}."

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The BMC library: one interface (``base``), one file for each protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._bmc import redfish
from ansible_collections.rackwright.metal.plugins.module_utils._bmc.base import Bmc
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError

PROTOCOLS: dict[str, Callable[[Mapping[str, Any]], AbstractContextManager[Bmc]]] = {"redfish": redfish.connect}

BMC_ARGUMENTS: dict[str, dict[str, Any]] = {
    "protocol": {"type": "str", "choices": list(PROTOCOLS), "default": "redfish"},
    "address": {"type": "str", "required": True},
    "username": {"type": "str"},
    "password": {"type": "str", "no_log": True},
    "system_id": {"type": "str"},
    "verify_ca": {"type": "raw", "default": True},
    "auth_type": {"type": "str", "choices": ["auto", "basic", "session", "none"], "default": "auto"},
}
"""The options of every module that talks to a BMC; same as the doc fragment C(bmc)."""

_MASKS = ("VALUE_SPECIFIED_IN_NO_LOG_PARAMETER", "********", "******")


def connect(params: Mapping[str, Any]) -> AbstractContextManager[Bmc]:
    """Return the BMC that ``params`` (see BMC_ARGUMENTS) describe, to enter with ``with``; raise OperationError."""
    for name in ("address", "username", "password", "system_id"):
        if str(params.get(name)) in _MASKS:
            raise OperationError(
                "log in to the BMC",
                f"The option {name} holds the mask of a hidden value, not the value.",
                "Take the value from where it was set, not from the output of a task or of the API.",
            )
    return PROTOCOLS[params["protocol"]](params)

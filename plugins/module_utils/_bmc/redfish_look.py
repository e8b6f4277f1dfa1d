# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The short way to a machine's power state and health: one request to a system whose path is known, without a login.

It is for those who look at thousands of machines again and again. Where it does not lead there, whatever the reason,
``redfish.connect`` is the long way, which knows the habits of BMCs and says what is wrong.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.request import getproxies

from ansible_collections.rackwright.metal.plugins.module_utils._bmc.redfish import POWER, health_of
from ansible_collections.rackwright.metal.plugins.module_utils._bmc.redfish_service import (
    CONNECT_TIMEOUT,
    READ_TIMEOUT,
    service_address,
    verification,
)
from ansible_collections.rackwright.metal.plugins.module_utils._bmc.redfish_trust import trust
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError

try:
    import requests
    import urllib3
except ImportError:  # the long way says so
    LIBRARIES_MISSING = True
else:
    LIBRARIES_MISSING = False

_FOUND = 200
_REFUSED = (401, 403)


class ShortWayClosed(Exception):
    """The short way does not lead to the power state.

    ``for_good``: the BMC does not let this user in without a login, so that another attempt may lock the account.
    """

    def __init__(self, *, for_good: bool = False) -> None:
        super().__init__()
        self.for_good = for_good


def look(params: Mapping[str, Any], path: str) -> tuple[str, str | None]:
    """Return power state, ``on`` or ``off``, and health of the system at ``path``; raise ShortWayClosed.

    ``params`` are those of ``connect``. User name and password go along as HTTP Basic authentication, which each
    Redfish service has to take (DSP0266, "HTTP Basic authentication").
    """
    if LIBRARIES_MISSING or params["auth_type"] == "session":
        raise ShortWayClosed
    try:
        status, body = _get(service_address(str(params["address"]))[0], path, params)
        system = json.loads(body) if status == _FOUND else {}
        state = POWER.get(str(system.get("PowerState")))
    except (OperationError, urllib3.exceptions.HTTPError, OSError, ValueError, AttributeError, TypeError) as error:
        raise ShortWayClosed from error
    if state is None:
        raise ShortWayClosed(for_good=status in _REFUSED)
    return state, health_of(system)


def _get(base: str, path: str, params: Mapping[str, Any]) -> tuple[int, bytes]:
    has_proxies, verify = surroundings(verification(params["verify_ca"]))
    if has_proxies and requests.utils.get_environ_proxies(base):
        raise ShortWayClosed
    headers = {"Accept": "application/json", "OData-Version": "4.0", "Connection": "close"}
    if params["username"] and params["auth_type"] != "none":
        account = f"{params['username']}:{params['password'] or ''}"
        headers["Authorization"] = urllib3.util.make_headers(basic_auth=account)["authorization"]
    secure: dict[str, Any] = {}
    if base.startswith("https:"):
        secure["ssl_context"] = trust(verify)
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)  # it is what the operator has chosen
    timeout = urllib3.Timeout(connect=CONNECT_TIMEOUT, read=READ_TIMEOUT)
    with urllib3.connection_from_url(base, retries=False, timeout=timeout, **secure) as pool:
        answer = pool.request("GET", path, headers=headers, redirect=False)
        return answer.status, answer.data


@cache
def surroundings(verify: bool | str) -> tuple[bool, bool | str]:
    """Return whether the environment names proxies, and against what certificates are checked: it stays as it is."""
    around = requests.Session().merge_environment_settings("https://bmc.invalid", {}, None, verify, None)
    return bool(getproxies()), around["verify"] or False

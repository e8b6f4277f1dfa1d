# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module await_inventory does."""

from __future__ import annotations

import time
from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._client import (
    API_OPTIONS,
    ApiClient,
    ApiError,
    segment,
)
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError

Data = dict[str, Any]

AWAIT_OPTIONS: Data = {
    **API_OPTIONS,
    "node": {"type": "str"},
    "wait_timeout": {"type": "int", "default": 1800},
}
PAUSE = 5.0
"""Seconds between two questions."""

_INSPECTING = ("inspecting", "inspect wait")


def await_inventory(params: Data, _check_mode: bool) -> Data:
    """Wait until the inspection of a node has ended, and return its inventory; raise OperationError when it failed."""
    if not params["node"]:
        raise OperationError("wait for the inventory", "no node is given", "Give the name or UUID of a node.")
    client, end = ApiClient(params), time.monotonic() + params["wait_timeout"]
    attempted = f"get the inventory of node {params['node']}"
    path = f"/nodes/{segment(params['node'])}"
    try:
        while (node := client.get(path))["provision_state"] in _INSPECTING:
            if time.monotonic() >= end:
                cause = f"the inspection has not ended after {params['wait_timeout']} seconds"
                raise OperationError(attempted, cause, "Look at the console of the machine.")
            time.sleep(PAUSE)
        if node["provision_state"] == "inspect failed":
            raise OperationError(
                attempted, f"the inspection failed: {node['last_error']}", "Correct it, and inspect again."
            )
        return {"changed": False, "inventory": client.get(f"{path}/inventory")["inventory"]}
    except ApiError as error:
        raise OperationError(attempted, str(error), "Check the node's name, and inspect it first.") from error

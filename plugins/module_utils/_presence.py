# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""See whether an agent runs at an address.

Source: contract/agent-protocol.md section 3 (``GET /v1/status``).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ansible_collections.rackwright.metal.plugins.module_utils._agent import Agent
from ansible_collections.rackwright.metal.plugins.module_utils._errors import OperationError

ARGUMENTS: dict[str, dict[str, Any]] = {
    "url": {"type": "str"},
    "ca": {"type": "str"},
    "timeout": {"type": "int", "default": 10},
}
AWAIT_ARGUMENTS: dict[str, dict[str, Any]] = {
    **ARGUMENTS,
    "wait": {"type": "int", "default": 600},
}
INTERVAL = 2.0


def answers(params: Mapping[str, Any]) -> bool:
    """Return whether the agent answers, with the certificate that belongs to it."""
    try:
        Agent(params["url"], "", ca=params["ca"], timeout=params["timeout"]).status()
    except OperationError:
        return False
    return True


def await_answer(params: Mapping[str, Any], *, check: bool) -> None:
    """Return when the agent answers; raise OperationError when it has not within ``wait`` seconds."""
    end = time.monotonic() + params["wait"]
    while not check and not (params["url"] and answers(params)):
        if time.monotonic() >= end:
            raise OperationError(
                f"find an agent at {params['url'] or '(no url)'}",
                f"It has not answered within {params['wait']} s.",
                "Look at the machine's console.",
            )
        time.sleep(INTERVAL)

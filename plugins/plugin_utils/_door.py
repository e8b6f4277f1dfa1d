# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ask the conductor, through its unix socket, what a run must know of its nodes.

One request a connection: one line of JSON, one JSON object back (docs/explanation/architecture.md, "The door"). Secrets
come this way only, so that they are in no file, no environment and no list of processes.
"""

from __future__ import annotations

import json
import socket
from typing import Any

TIMEOUT = 60.0
"""Seconds that the conductor may take for an answer."""


class DoorError(Exception):
    """The conductor did not answer, or refused to."""


def ask(door: str, run: str, *, step: int | None = None, mark: str | None = None) -> dict[str, dict[str, Any]]:
    """Return the contexts of a run's nodes by UUID; without ``step`` only what is no secret. Raise DoorError.

    ``mark`` is a text that was just displayed as ``@mark <text>``: the answer holds what every line before it told.
    """
    request: dict[str, Any] = {"run": run} if step is None else {"run": run, "step": step}
    if mark is not None:
        request["mark"] = mark
    try:
        answer = json.loads(_exchange(door, json.dumps(request).encode() + b"\n"))
    except (OSError, ValueError) as error:
        raise DoorError(f"The conductor does not answer at {door}: {error}.") from error
    if not isinstance(answer, dict) or not isinstance(answer.get("nodes"), dict):
        reason = answer.get("error") if isinstance(answer, dict) else None
        raise DoorError(f"The conductor refuses to tell about run {run}: {reason or 'it sent no nodes'}.")
    nodes: dict[str, dict[str, Any]] = answer["nodes"]
    return nodes


def _exchange(door: str, request: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(TIMEOUT)
        connection.connect(door)
        connection.sendall(request)
        with connection.makefile("rb") as stream:
            return stream.read()

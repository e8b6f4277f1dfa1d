# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Events that other services tell us: they are logged (contract: api.yaml, events)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from rackwright.services import access
from rackwright.services.context import Context

_log = logging.getLogger(__name__)


def take(events: Sequence[Mapping[str, Any]], *, context: Context) -> None:
    """Take the events; raise Forbidden for a caller who may not send any."""
    access.demand("baremetal:events:post", context=context)
    for event in events:
        _log.info("An event came in.", extra={"action": event["event"], "event": dict(event)})

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Conductors: which run, and which one takes care of a node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from rackwright.domain.errors import InvalidDriver
from rackwright.engine import ring
from rackwright.engine.ring import Ring
from rackwright.services import access
from rackwright.services.context import Context
from rackwright.store import conductor as conductors
from rackwright.store.columns import now
from rackwright.store.conductor import Alive
from rackwright.store.paging import Page


def listed(columns: Sequence[str], *, context: Context, page: Page) -> list[dict[str, Any]]:
    """Return one page of conductors; ``alive`` may be one of the columns. Raise ConductorNotFound for the marker."""
    access.demand("baremetal:conductor:get", context=context)
    stored = dict.fromkeys((*(name for name in columns if name != "alive"), "online", "updated_at"))
    rows = conductors.listed(tuple(stored), session=context.session, page=page)
    return [_with_alive(row, context) for row in rows]


def get(hostname: str, *, context: Context) -> dict[str, Any]:
    """Return one conductor; raise ConductorNotFound."""
    access.demand("baremetal:conductor:get", context=context)
    return _with_alive(conductors.get(hostname, session=context.session).model_dump(), context)


def _with_alive(row: dict[str, Any], context: Context) -> dict[str, Any]:
    silence = now() - row["updated_at"]
    return row | {"alive": row["online"] and silence < timedelta(seconds=context.settings.heartbeat_timeout)}


def alive(*, context: Context) -> Sequence[Alive]:
    """Return the running conductors, by host name; a request looks once."""
    return ring.alive(session=context.session, settings=context.settings)


def check_served(driver: str, group: str, *, context: Context) -> None:
    """Raise InvalidDriver unless the driver is enabled and a running conductor of the group serves it."""
    if driver not in context.catalog.hardware_types:
        known = ", ".join(sorted(context.catalog.hardware_types)) or "none"
        raise InvalidDriver(driver=driver, reason=f"it is not enabled here; enabled: {known}")
    if not Ring(alive(context=context)).serves(driver, group):
        where = f'in conductor group "{group}"' if group else "without a conductor group"
        raise InvalidDriver(driver=driver, reason=f"no running conductor {where} serves it; start one first")


def add_hosts(rows: Iterable[dict[str, Any]], *, context: Context) -> None:
    """Set ``conductor`` of rows of nodes: the host name of the one that takes care of the node, None without one.

    The rows need uuid, driver and conductor_group.
    """
    running = Ring(alive(context=context))
    for row in rows:
        row["conductor"] = running.host(row["uuid"], row["driver"], row["conductor_group"])

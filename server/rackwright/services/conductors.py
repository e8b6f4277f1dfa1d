# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Conductors: which run, and which one takes care of a node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from rackwright.domain.errors import InvalidDriver
from rackwright.services import access
from rackwright.services.context import Context
from rackwright.store import conductor as conductors
from rackwright.store.columns import now
from rackwright.store.conductor import Conductor
from rackwright.store.paging import Page

_RUNNING = "rackwright.running"


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


def alive(*, context: Context) -> Sequence[Conductor]:
    """Return the running conductors, by host name; a request looks once."""
    known = context.session.info
    if _RUNNING not in known:
        known[_RUNNING] = conductors.alive(session=context.session, timeout=context.settings.heartbeat_timeout)
    running: Sequence[Conductor] = known[_RUNNING]
    return running


def check_served(driver: str, group: str, *, context: Context) -> None:
    """Raise InvalidDriver unless the driver is enabled and a running conductor of the group serves it."""
    if driver not in context.catalog.hardware_types:
        known = ", ".join(sorted(context.catalog.hardware_types)) or "none"
        raise InvalidDriver(driver=driver, reason=f"it is not enabled here; enabled: {known}")
    if not _serving(alive(context=context), driver, group):
        where = f'in conductor group "{group}"' if group else "without a conductor group"
        raise InvalidDriver(driver=driver, reason=f"no running conductor {where} serves it; start one first")


def add_hosts(rows: Iterable[dict[str, Any]], *, context: Context) -> None:
    """Set ``conductor`` of rows of nodes: the host name of the one that takes care of the node, None without one.

    The rows need uuid, driver and conductor_group.
    """
    running = alive(context=context)
    serving: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        kind = row["driver"], row["conductor_group"]
        if kind not in serving:
            serving[kind] = _serving(running, *kind)
        hosts = serving[kind]
        row["conductor"] = hosts[int(row["uuid"].replace("-", ""), 16) % len(hosts)] if hosts else None


def _serving(running: Iterable[Conductor], driver: str, group: str) -> list[str]:
    return [each.hostname for each in running if each.conductor_group == group and driver in each.drivers]

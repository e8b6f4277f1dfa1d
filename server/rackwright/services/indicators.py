# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The lights of a machine by which people find it (contract: api.yaml, management/indicators)."""

from __future__ import annotations

from typing import Any

from rackwright.domain.errors import Invalid
from rackwright.services import management
from rackwright.services.context import Context


async def listed(ident: str, *, context: Context) -> list[dict[str, Any]]:
    """Return the indicators of a node: ``name``, ``component``, ``readonly``, ``states`` and ``state``.

    Raise as ``management.ask`` does.
    """
    found = await management.ask(ident, management.GET_INDICATORS, context=context)
    return sorted(found.get("indicators", []), key=lambda each: (each["component"], each["name"]))


async def state(ident: str, name: str, *, context: Context) -> str:
    """Return the state of the indicator ``<name>@<component>``; raise Invalid where there is none, else as ``ask``."""
    wanted = _parts(name)
    known = await listed(ident, context=context)
    for each in known:
        if (each["name"], each["component"]) == wanted:
            return str(each["state"])
    names = ", ".join(f"{each['name']}@{each['component']}" for each in known)
    raise Invalid(f"Node {ident} has no indicator {name}; it has: {names or 'none'}.")


async def change(ident: str, name: str, wanted: str, *, context: Context) -> None:
    """Bring an indicator into a state; raise as ``state`` does."""
    indicator, component = _parts(name)
    args = {"component": component, "indicator": indicator, "state": wanted.lower()}
    await management.ask(ident, management.SET_INDICATOR, args, context=context)


def _parts(name: str) -> tuple[str, str]:
    indicator, at, component = name.rpartition("@")
    if not at or not indicator or not component:
        raise Invalid(f"{name!r} names no indicator; the form is <indicator>@<component>, as in led@system.")
    return indicator, component

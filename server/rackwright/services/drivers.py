# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Drivers: the hardware types that running conductors serve, and what each offers."""

from __future__ import annotations

from typing import Any

from rackwright.domain.errors import DriverNotFound
from rackwright.domain.verbs import Interface
from rackwright.services import access, conductors
from rackwright.services.context import Context


def listed(*, context: Context) -> list[dict[str, Any]]:
    """Return a row for each driver that a running conductor serves, by name."""
    access.demand("baremetal:driver:get", context=context)
    hosts: dict[str, list[str]] = {}
    for each in conductors.alive(context=context):
        for driver in each.drivers:
            if driver in context.catalog.hardware_types:
                hosts.setdefault(driver, []).append(each.hostname)
    return [_row(name, hosts[name], context) for name in sorted(hosts)]


def get(name: str, *, context: Context) -> dict[str, Any]:
    """Return the row of one driver; raise DriverNotFound."""
    for each in listed(context=context):
        if each["name"] == name:
            return each
    raise DriverNotFound(ident=name)


def properties(name: str, *, context: Context) -> dict[str, str]:
    """Return the description of every key of driver_info that the driver reads; raise DriverNotFound."""
    access.demand("baremetal:driver:get_properties", context=context)
    get(name, context=context)
    found = {}
    for kind, names in context.catalog.hardware_type(name).interfaces.items():
        for implementation in names:
            for key, each in context.catalog.implementation(kind, implementation).properties.items():
                found[key] = f"{each.description} Required." if each.required else each.description
    return dict(sorted(found.items()))


def _row(name: str, hosts: list[str], context: Context) -> dict[str, Any]:
    offer = context.catalog.hardware_type(name).interfaces
    row: dict[str, Any] = {"name": name, "hosts": hosts, "type": "dynamic"}
    for kind in Interface:
        names = list(offer.get(kind, ()))
        row[f"default_{kind}_interface"] = names[0] if names else None
        row[f"enabled_{kind}_interfaces"] = names
    return row

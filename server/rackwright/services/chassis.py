# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Chassis: list, create, change and remove them (contract: node-fields.md, "Chassis")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rackwright.domain.errors import Duplicate, Invalid
from rackwright.services import access
from rackwright.services.context import Context, no_duplicate
from rackwright.store import node as nodes
from rackwright.store.chassis import CHASSIS, Chassis
from rackwright.store.paging import Page

Row = dict[str, Any]


def get(uuid: str, *, context: Context, lock: bool = False) -> Chassis:
    """Return the chassis with this UUID; raise ChassisNotFound."""
    access.demand("baremetal:chassis:get", context=context)
    return CHASSIS.get(uuid, session=context.session, lock=lock)


def listed(columns: Sequence[str], *, context: Context, page: Page) -> list[Row]:
    """Return one page of chassis; raise ChassisNotFound for an unknown marker."""
    access.demand("baremetal:chassis:get", context=context)
    return CHASSIS.listed(columns, session=context.session, page=page)


def create(values: Mapping[str, Any], *, context: Context) -> Chassis:
    """Create a chassis and return it; raise Duplicate for a UUID that is taken."""
    access.demand("baremetal:chassis:create", context=context)
    chassis = Chassis(**values)
    if CHASSIS.taken("uuid", chassis.uuid, session=context.session):
        raise Duplicate(what="A chassis with uuid", ident=chassis.uuid)
    _keep(chassis, context)
    return chassis


def update(chassis: Chassis, values: Mapping[str, Any], *, context: Context) -> None:
    """Change fields of a chassis."""
    access.demand("baremetal:chassis:update", context=context)
    for name, value in values.items():
        setattr(chassis, name, value)
    _keep(chassis, context)


def delete(uuid: str, *, context: Context) -> None:
    """Remove a chassis; raise ChassisNotFound, or Invalid while nodes are in it."""
    access.demand("baremetal:chassis:delete", context=context)
    chassis = get(uuid, context=context, lock=True)
    if nodes.taken("chassis_uuid", chassis.uuid, session=context.session):
        raise Invalid(f"Chassis {chassis.uuid} contains nodes; unset their chassis_uuid or remove them first.")
    context.session.delete(chassis)
    context.session.commit()


def _keep(chassis: Chassis, context: Context) -> None:
    context.session.add(chassis)
    with no_duplicate("A chassis with uuid", chassis.uuid):
        context.session.commit()

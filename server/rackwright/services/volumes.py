# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Volume connectors and targets: list, create, change and remove them (contract: node-fields.md).

Both obey the same rules, so each is a ``Kind``, which is the service of the resource.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rackwright.domain.errors import Duplicate, Invalid
from rackwright.domain.states import ProvisionState
from rackwright.services import access, belongings
from rackwright.services.belongings import Row
from rackwright.services.context import Context, check_unlocked
from rackwright.store.node import Node
from rackwright.store.paging import Page
from rackwright.store.source import Source
from rackwright.store.volume import VOLUME_CONNECTORS, VOLUME_TARGETS, VolumeConnector, VolumeTarget

Volume = VolumeConnector | VolumeTarget


@dataclass(frozen=True, slots=True)
class Kind:
    """One of the two resources: its name, its table, and the columns whose values together are unique."""

    name: str
    source: Source[Any]
    distinct: tuple[str, str]

    def get(self, uuid: str, *, context: Context, lock: bool = False) -> Volume:
        """Return the connector or target with this UUID; raise NotFound."""
        found: Volume = self.source.get(uuid, session=context.session, lock=lock)
        belongings.demand("baremetal:volume:get", found, hidden=self.source.missing(ident=uuid), context=context)
        return found

    def listed(self, columns: Sequence[str], *, context: Context, filters: Mapping[str, Any], page: Page) -> list[Row]:
        """Return one page of connectors or targets; raise NotFound for an unknown node or marker."""
        stored = belongings.stored("volume", filters, context=context)
        rows = self.source.listed(columns, session=context.session, filters=stored, page=page)
        return [*visible(rows, context=context)] if _SEALED in columns else rows

    def create(self, values: Mapping[str, Any], *, context: Context) -> Volume:
        """Create a connector or target and return it; raise Invalid or Duplicate."""
        given = dict(values)
        node = belongings.future_node(given.pop("node_uuid"), "baremetal:volume:create", context=context)
        volume: Volume = self.source.table(node_id=node.id)
        self._keep(volume, given | {"node_id": node.id}, context)
        return volume

    def update(self, volume: Volume, values: Mapping[str, Any], *, context: Context) -> None:
        """Change fields of a connector or target, all or none of them; raise Invalid, Conflict or children of them."""
        changes = dict(values)
        node = belongings.node_of(volume, context=context)
        access.demand("baremetal:volume:update", node, context=context)
        check_unlocked(node)
        self._check_off(node, attempted="update")
        if "node_uuid" in changes:
            wanted = belongings.future_node(changes.pop("node_uuid"), "baremetal:volume:create", context=context)
            self._check_off(wanted, attempted="update")
            changes["node_id"] = wanted.id
        self._keep(volume, changes, context)

    def delete(self, uuid: str, *, context: Context) -> None:
        """Remove a connector or target; raise NotFound, NodeLocked, or Invalid while its node may use it."""
        volume = self.get(uuid, context=context, lock=True)
        node = belongings.node_of(volume, context=context)
        access.demand("baremetal:volume:delete", node, context=context)
        check_unlocked(node)
        if _P(node.provision_state) not in _DELETABLE:
            self._check_off(node, attempted="deletion")
        context.session.delete(volume)
        context.session.commit()

    def _check_off(self, node: Node, *, attempted: str) -> None:
        if node.power_state != _OFF:
            raise Invalid(
                f'The requested action "{self.name} {attempted}" can not be performed on node {node.uuid}: '
                f"its power state is {node.power_state or 'unknown'}. Power it off first."
            )

    def _keep(self, volume: Volume, values: dict[str, Any], context: Context) -> None:
        if _SEALED in values:
            values[_SEALED] = context.sealer.seal(values[_SEALED])
        if values.keys() & set(self.distinct):
            pair = {name: values.get(name, getattr(volume, name)) for name in self.distinct}
            others = [each for each in self.source.find(session=context.session, **pair) if each.id != volume.id]
            if others:
                raise Duplicate(what=f"A {self.name} with", ident=", ".join(f"{name} {pair[name]}" for name in pair))
        belongings.keep(volume, values, what=self.name, unique=("uuid",), taken=self.source.taken, context=context)


CONNECTOR = Kind("volume connector", VOLUME_CONNECTORS, ("type", "connector_id"))
TARGET = Kind("volume target", VOLUME_TARGETS, ("node_id", "boot_index"))

_P = ProvisionState
_DELETABLE = (_P.ENROLL, _P.MANAGEABLE, _P.ADOPT_FAILED)
_OFF = "power off"
_SEALED = "properties"
_REDACTED = {"redacted_contents": "Hidden: seeing them needs the rule baremetal:volume:view_target_properties."}


def check_listing(*, context: Context) -> None:
    """Raise Forbidden for a caller who may list neither connectors nor targets."""
    access.visible_to("volume", context=context)


def row(volume: Volume, *, context: Context) -> Row:
    """Return all columns of a connector or target, and the UUID of its node; properties stay sealed."""
    return belongings.row(volume, context=context)


def visible(rows: Sequence[Row], *, context: Context) -> Sequence[Row]:
    """Return the rows as the caller may see them: without the rule for it, nothing of the properties is shown."""
    if access.allows("baremetal:volume:view_target_properties", context=context):
        return rows
    return [each | {_SEALED: _REDACTED} if _SEALED in each else each for each in rows]

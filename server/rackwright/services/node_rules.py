# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The rules under which fields of a node may change, one function each (contract: node-fields.md, "Rules").

A rule looks at the wanted change, raises when it is not allowed, and adds what follows from it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rackwright.catalog import HardwareType
from rackwright.domain.errors import (
    ChassisNotFound,
    Conflict,
    Duplicate,
    Invalid,
    InvalidDriver,
    NodeAssociated,
    NodeNotFound,
    WrongState,
)
from rackwright.domain.states import ProvisionState
from rackwright.domain.verbs import Interface, possible
from rackwright.engine import allocation
from rackwright.services import access, conductors
from rackwright.services.context import Context, check_unlocked
from rackwright.store import allocation as allocations
from rackwright.store import node as nodes
from rackwright.store.chassis import CHASSIS
from rackwright.store.node import Node

INTERFACE_FIELDS = tuple(f"{kind}_interface" for kind in Interface)
RESERVED_NAMES = ("maintenance", "management", "states", "vendor_passthru", "detail", "validate")

_P = ProvisionState
_FREE = (_P.ENROLL, _P.INSPECTING, _P.INSPECT_WAIT, _P.MANAGEABLE, _P.AVAILABLE)
_FREE_FIRST = "Bring it into state manageable or available first"
_NAME = re.compile(r"[A-Za-z0-9._~-]{1,255}")
_HOST_NAME = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9-]{1,63}(?<!-))*\.?")
_ANY_NAME_SINCE = 10
_UNDEPLOY = "deleted"
_INSPECTING_FROZEN_SINCE = 39


@dataclass(slots=True)
class Change:
    """What somebody wants to change: the node as it is, the new values, and the request."""

    node: Node
    values: dict[str, Any]
    context: Context
    new: bool = False
    reset_interfaces: bool = False

    def after(self, name: str) -> Any:
        """Return the value that a field will have."""
        return self.values.get(name, getattr(self.node, name))

    def turns(self, name: str, value: object) -> bool:
        """Return whether the field is about to become ``value``."""
        return name in self.values and self.values[name] == value

    def wrong_state(self, attempted: str, action: str) -> WrongState:
        """Return the error for a change that does not fit the node's state; ``action`` is what to do first."""
        return WrongState(attempted=attempted, node=self.node.uuid, state=self.node.provision_state, action=action)


Rule = Callable[[Change], None]


def check(change: Change) -> None:
    """Apply every rule; raise Invalid, Conflict or a child of them."""
    for rule in RULES:
        rule(change)


def _not_frozen(change: Change) -> None:
    node = change.node
    if change.new or (node.maintenance and change.values == {"instance_uuid": None}):
        return
    check_unlocked(node)
    state = _P(node.provision_state)
    if node.target_provision_state is not None and not state.traits.patch_allowed_when_target_set:
        raise change.wrong_state("Changing the node", "Try again when what goes on with it has ended.")
    if state is _P.INSPECTING and change.context.minor >= _INSPECTING_FROZEN_SINCE:
        raise change.wrong_state("Changing the node", "Try again when the inspection has ended.")


def _name(change: Change) -> None:
    name = change.values.get("name")
    if name is None:
        return
    if not _NAME.fullmatch(name):
        raise Invalid(f"{name} is not a name; names consist of letters, digits and . _ ~ - (255 at most).")
    if name in RESERVED_NAMES or _is_uuid(name):
        raise Invalid(f"{name} cannot be the name of a node: it is a UUID or a word of the API's paths.")
    if change.context.minor < _ANY_NAME_SINCE and not _HOST_NAME.fullmatch(name):
        raise Invalid(f"{name} is not a host name, which names must be below API version 1.10.")


def _is_uuid(text: str) -> bool:
    return re.fullmatch(r"\{?[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}\}?", text.lower()) is not None


def _unique(change: Change) -> None:
    for name in ("uuid", "name", "instance_uuid"):
        value = change.node.uuid if name == "uuid" and change.new else change.values.get(name)
        if value is not None and nodes.taken(name, value, besides=change.node.id, session=change.context.session):
            raise Duplicate(what=f"A node with {name}", ident=value)


def _driver(change: Change) -> None:
    if change.reset_interfaces and "driver" not in change.values:
        raise Invalid("reset_interfaces is only possible together with a change of the driver.")
    if "driver" in change.values and change.node.console_enabled:
        raise Conflict(f"The driver of node {change.node.uuid} cannot change while its console is on; switch it off.")
    if change.values.get("conductor_group", "") is None:
        change.values["conductor_group"] = ""
    if change.values.keys() & {"driver", "conductor_group"}:
        conductors.check_served(change.after("driver"), change.after("conductor_group"), context=change.context)


def _interfaces(change: Change) -> None:
    wanted = [name for name in INTERFACE_FIELDS if name in change.values]
    if wanted and not change.new and not change.node.maintenance and _P(change.node.provision_state) not in _FREE:
        raise change.wrong_state(f"Changing {', '.join(wanted)}", f"{_FREE_FIRST}, or put it into maintenance.")
    if not wanted and "driver" not in change.values:
        return
    driver = change.after("driver")
    hardware_type = change.context.catalog.hardware_type(driver)
    for kind in Interface:
        _interface(change, kind, hardware_type)


def _interface(change: Change, kind: Interface, hardware_type: HardwareType) -> None:
    field, names = f"{kind}_interface", hardware_type.interfaces.get(kind, ())
    if change.reset_interfaces and field not in change.values:
        change.values[field] = None
    name = change.after(field)
    if name is None and names:
        change.values[field] = names[0]
    elif name is not None and name not in names:
        offered = ", ".join(names) or "none"
        disabled = name in hardware_type.left_out.get(kind, ())
        why = f", which setting enabled_{kind}_interfaces leaves out" if disabled else ""
        raise InvalidDriver(driver=hardware_type.name, reason=f"its {field} cannot be {name}{why}; possible: {offered}")


def _resource_class(change: Change) -> None:
    free = _P(change.node.provision_state) in _FREE
    if "resource_class" in change.values and change.node.resource_class and not free and not change.new:
        raise change.wrong_state("Changing the resource_class", f"{_FREE_FIRST}.")


def _instance(change: Change) -> None:
    node, instance = change.node, change.values.get("instance_uuid")
    if instance is not None and node.instance_uuid is not None and not change.new:
        raise associated(node)
    shown = change.values.get("instance_info", {}).get("display_name")
    if isinstance(shown, str) and 0 < len(shown) <= 255 and not change.after("instance_name"):
        change.values["instance_name"] = shown


def associated(node: Node) -> NodeAssociated:
    """Return the error for a node that an instance has; it says what frees the node in its present state."""
    action = "Unset its instance_uuid first."
    if _UNDEPLOY in possible(_P(node.provision_state)):
        action = f"Undeploy it first (target {_UNDEPLOY})."
    elif node.allocation_uuid is not None:
        action = f"Delete allocation {node.allocation_uuid} first."
    return NodeAssociated(node=node.uuid, instance=node.instance_uuid, action=action)


def _allocation(change: Change) -> None:
    """Remove an allocation with the instance_uuid that it has set; keep the owner that it has asked for."""
    node = change.node
    found = allocations.of_node(node.uuid, session=change.context.session) if node.allocation_uuid else None
    if found is None:
        return
    if found.owner is not None and change.after("owner") != node.owner:
        raise Conflict(f"The owner of node {node.uuid} cannot change: allocation {found.uuid} of a project has it.")
    if change.turns("instance_uuid", None):
        if not node.maintenance and _P(node.provision_state) not in _FREE:
            attempted = "Removing the instance_uuid, and with it the allocation,"
            raise change.wrong_state(attempted, f"{_FREE_FIRST}, or put it into maintenance.")
        allocation.take_back(node, session=change.context.session)


def _protected(change: Change) -> None:
    if change.turns("protected", True) and _P(change.node.provision_state) not in (_P.ACTIVE, _P.RESCUE):
        raise change.wrong_state("Protecting the node", "Deploy it first: only a node that is in use can be protected.")
    _reason(change, "protected")


def _retired(change: Change) -> None:
    if change.turns("retired", True) and not change.new and change.node.provision_state == _P.AVAILABLE:
        raise change.wrong_state("Retiring the node", "Bring it into state manageable first (verb manage).")
    _reason(change, "retired")


def _reason(change: Change, flag: str) -> None:
    reason = f"{flag}_reason"
    if change.values.get(reason) is not None and not change.after(flag):
        raise Invalid(f"{reason} is only possible when {flag} is true.")
    if change.turns(flag, False):
        change.values[reason] = None


def _maintenance(change: Change) -> None:
    if change.turns("maintenance", False):
        change.values |= {"maintenance_reason": None, "fault": None}


def _parent(change: Change) -> None:
    ident = change.values.get("parent_node")
    if ident is None:
        return
    try:
        parent = nodes.get(ident, session=change.context.session)
        access.see(parent, context=change.context, hidden=NodeNotFound(ident=ident))
    except NodeNotFound as error:
        raise Invalid(f"The parent node {ident} could not be found.") from error
    if parent.uuid == change.node.uuid or parent.owner != change.after("owner"):
        raise Invalid(f"Node {ident} cannot be the parent: it is the node itself or has another owner.")
    change.values["parent_node"] = parent.uuid


def _chassis(change: Change) -> None:
    uuid = change.values.get("chassis_uuid")
    if uuid is None:
        return
    try:
        CHASSIS.get(uuid, session=change.context.session, lock=True)
    except ChassisNotFound as error:
        raise Invalid(error.message) from error


RULES: tuple[Rule, ...] = (
    _not_frozen,
    _name,
    _driver,
    _interfaces,
    _resource_class,
    _instance,
    _allocation,
    _unique,
    _protected,
    _retired,
    _maintenance,
    _parent,
    _chassis,
)
"""Every rule, in the order in which they are applied."""

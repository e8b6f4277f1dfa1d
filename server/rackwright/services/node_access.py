# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What a caller may change of a node, and what of it he may read.

Contract: policies.yaml; node-fields.md, "Redaction". Without a policy nothing is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rackwright.domain.errors import Forbidden
from rackwright.domain.states import ProvisionState
from rackwright.domain.steps import StepRequest
from rackwright.domain.verbs import Interface
from rackwright.services import access
from rackwright.services.context import Context
from rackwright.store import node as nodes
from rackwright.store.node import Node
from rackwright.store.paging import Page

Row = dict[str, Any]

_NODE = "baremetal:node:"
_OWN_RULE = (
    *("chassis_uuid", "conductor_group", "disable_power_off", "driver_info", "instance_uuid", "lessee", "name"),
    *("network_data", "owner", "parent_node", "properties", "retired", "shard"),
)
_UPDATES: Mapping[str, str] = {
    **{name: f"update:{name}" for name in _OWN_RULE},
    **dict.fromkeys(("driver", *(f"{kind}_interface" for kind in Interface)), "update:driver_interfaces"),
    "extra": "update_extra",
    "instance_info": "update_instance_info",
    "retired_reason": "update:retired",
}
"""The rule that a change of a field asks; ``update`` for those that are not named."""

_TURNS: Mapping[tuple[str, bool], str] = {
    ("maintenance", True): "set_maintenance",
    ("maintenance", False): "clear_maintenance",
    ("automated_clean", False): "disable_cleaning",
}
"""The rule that a change of a field to a value asks."""

_NOT_FOR_OWNERS = ("automated_clean", "chassis_uuid", "conductor_group", "disable_power_off", "parent_node", "shard")
"""Fields that who owns a node may not change by default, and so may not set when he creates it."""

_READS: Mapping[str, str] = {
    name: f"{_NODE}get:{name}" for name in ("driver_info", "driver_internal_info", "last_error", "reservation")
}
"""The rule by which a caller below the threshold may read a field."""

_THRESHOLD = f"{_NODE}get:filter_threshold"
_TEXTS = ("last_error", "reservation")
_SCOPE = ("owner", "lessee")


class ForeignChild(Forbidden):
    """Step {step} is for child nodes of {node} that are not all yours; name yours in limit_child_node_execution."""


def check_update(node: Node, values: Mapping[str, Any], *, context: Context) -> None:
    """Raise Forbidden unless the caller may give a node these values."""
    if context.policy is None:
        return
    for name in sorted(values):
        access.demand(_rule(name, values[name]), node, context=context)
        if name in _READS and is_restricted(context):  # else he would write over what he cannot see
            access.demand(_READS[name], node, context=context)
    if "owner" in values and node.provision_state == ProvisionState.ACTIVE:
        access.demand(f"{_NODE}update_owner_provisioned", node, context=context)
    if not values:
        access.demand(f"{_NODE}update", node, context=context)


def check_any_update(node: Node, *, context: Context) -> None:
    """Raise Forbidden unless the caller may change anything of a node."""
    rules = {"update", *_UPDATES.values(), *_TURNS.values()}
    if not any(access.allows(_NODE + rule, node, context=context) for rule in rules):
        access.demand(f"{_NODE}update", node, context=context)


def _rule(name: str, value: Any) -> str:
    turn = _TURNS.get((name, value)) if isinstance(value, bool) else None
    return _NODE + (turn or _UPDATES.get(name, "update"))


def owned(values: Mapping[str, Any], *, context: Context) -> dict[str, Any]:
    """Return the values of a new node, which belongs to the caller's project unless he may create any node.

    Raise Forbidden.
    """
    given = dict(values)
    if access.allows(f"{_NODE}create", context=context):
        return given
    if given.get("owner") is None:
        given["owner"] = context.project
    if context.project is None or given["owner"] != context.project or not _own_nodes_are_managed(context):
        access.demand(f"{_NODE}create", context=context)
    access.demand(f"{_NODE}create:self_owned_node", context=context)
    future = Node(driver="", owner=context.project)
    for name in _NOT_FOR_OWNERS:
        if name in given:
            access.demand(_rule(name, given[name]), future, context=context)
    return given


def check_delete(node: Node, *, context: Context) -> None:
    """Raise Forbidden unless the caller may remove a node."""
    if _own_nodes_are_managed(context) and access.allows(f"{_NODE}delete:self_owned_node", node, context=context):
        return
    access.demand(f"{_NODE}delete", node, context=context)


def check_children(node: Node, steps: Iterable[StepRequest], rule: str, *, context: Context) -> None:
    """Raise Forbidden for a step of child nodes when one of these is not the caller's, so that ``rule`` denies him."""
    if context.policy is None:
        return
    for step in steps:
        if step.execute_on_child_nodes:
            for child in nodes.find(session=context.session, parent_node=node.uuid):
                meant = child.uuid in (step.limit_child_node_execution or (child.uuid,))
                if meant and not access.allows(rule, child, context=context):
                    raise ForeignChild(step=step.key, node=node.uuid)


def _own_nodes_are_managed(context: Context) -> bool:
    return context.settings.project_admin_can_manage_own_nodes


def is_restricted(context: Context) -> bool:
    """Return whether the caller reads nodes only as far as rules about single fields let him."""
    return context.policy is not None and not access.allows(_THRESHOLD, context=context)


def needed(columns: Iterable[str], *, context: Context) -> tuple[str, ...]:
    """Return the columns that ``redact`` looks at besides those that are shown."""
    return _SCOPE if is_restricted(context) and not _READS.keys().isdisjoint(columns) else ()


def redact(rows: Sequence[Row], *, context: Context) -> None:
    """Replace in rows what the caller may not read by a text, and leave out parents that he does not see."""
    if context.policy is None:
        return
    if is_restricted(context):
        hidden: dict[tuple[Any, ...], Mapping[str, Any]] = {}
        for row in rows:
            if not _READS.keys().isdisjoint(row):
                scope = tuple(row[name] for name in _SCOPE)
                if scope not in hidden:
                    hidden[scope] = _hidden(*scope, context=context)
                row.update((name, text) for name, text in hidden[scope].items() if name in row)
    _hide_parents(rows, context)


def _hidden(owner: str | None, lessee: str | None, *, context: Context) -> dict[str, Any]:
    """Return what the caller sees in place of the fields that he may not read of such nodes."""
    node = Node(driver="", owner=owner, lessee=lessee)
    texts = {
        name: f"Hidden: seeing it needs the rule {rule}."
        for name, rule in _READS.items()
        if not access.allows(rule, node, context=context)
    }
    return {name: text if name in _TEXTS else {"content": text} for name, text in texts.items()}


def _hide_parents(rows: Sequence[Row], context: Context) -> None:
    named = {row["parent_node"] for row in rows if row.get("parent_node")}
    project = access.visible_to("node", context=context) if named else None
    if project is None:
        return
    filters = {"uuids": sorted(named), "visible_to": project}
    seen = {row["uuid"] for row in nodes.listed(["uuid"], session=context.session, filters=filters, page=Page())}
    for row in rows:
        if row.get("parent_node") not in seen and "parent_node" in row:
            row["parent_node"] = None


def check_filters(filters: Mapping[str, Any], *, context: Context) -> None:
    """Raise Forbidden for a filter that names another project than the caller's, who may not list all nodes."""
    for name in ("owner", "project"):
        access.check_project_filter("node", filters.get(name), context=context)

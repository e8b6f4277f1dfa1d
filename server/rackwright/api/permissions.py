# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What the caller of a route with a body must be allowed before he is told what is wrong with the form of his request.

Services ask the rules themselves, but only after a body was read. Where reading it fails, the rule of the route is
asked first, so that a caller without permission gets 403, or 404 where the row is hidden (contract: state-machine.yaml,
verb_check_order). A request whose form is right costs nothing here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rackwright.api.deps import checked_ident, checked_uuid
from rackwright.services import (
    access,
    allocations,
    belongings,
    node_access,
    nodes,
    portgroups,
    ports,
    runbooks,
    volumes,
)
from rackwright.services.context import Context
from rackwright.store.allocation import Allocation
from rackwright.store.node import Node
from rackwright.store.runbook import Runbook

Idents = Mapping[str, str]
Ask = Callable[[Context, Idents], object]
"""Raises Forbidden or NotFound for a caller who may not do what the route is for; takes the texts of the path."""


def _anything(rule: str) -> Ask:
    """Ask a rule that is about no row."""
    return lambda context, _idents: access.demand(f"baremetal:{rule}", context=context)


def _own(rule: str) -> Ask:
    """Ask whether the caller could do it with a node of his own project: only the body tells which node it is."""

    def ask(context: Context, _idents: Idents) -> None:
        own = Node(driver="", owner=context.project, lessee=context.project)
        if not access.allows(f"baremetal:{rule}", own, context=context):
            access.demand(f"baremetal:{rule}", context=context)

    return ask


def _row(rule: str, get: Callable[[str, Context], object]) -> Ask:
    """Ask a rule about the row of the path, which ``get`` finds."""
    return lambda context, idents: access.demand(
        f"baremetal:{rule}", get(next(iter(idents.values())), context), context=context
    )


def _node(rule: str) -> Ask:
    """Ask a rule about the node of the path."""
    return _row(f"node:{rule}", _found_node)


def _found_node(ident: str, context: Context) -> Node:
    return nodes.get(checked_ident(ident), context=context)


def _port(ident: str, context: Context) -> Node:
    return belongings.node_of(ports.get(checked_ident(ident), context=context), context=context)


def _portgroup(ident: str, context: Context) -> Node:
    return belongings.node_of(portgroups.get(checked_ident(ident), context=context), context=context)


def _volume(kind: volumes.Kind) -> Callable[[str, Context], Node]:
    return lambda uuid, context: belongings.node_of(kind.get(checked_uuid(uuid), context=context), context=context)


def _allocation(ident: str, context: Context) -> Allocation:
    return allocations.get(checked_ident(ident), context=context)


def _runbook(ident: str, context: Context) -> Runbook:
    return runbooks.get(checked_ident(ident), context=context)


def _new_node(context: Context, _idents: Idents) -> None:
    node_access.owned({}, context=context)


def _some_update(context: Context, idents: Idents) -> None:
    """Ask whether the caller may change anything of the node."""
    node_access.check_any_update(_found_node(idents["ident"], context), context=context)


_VENDOR = _node("vendor_passthru")
_DRIVER = _anything("driver:vendor_passthru")
_VERBS = ("GET", "POST", "PUT", "PATCH", "DELETE")

ASKS: Mapping[str, Ask] = {
    "POST /v1/nodes": _new_node,
    "PATCH /v1/nodes/{ident}": _some_update,
    "PUT /v1/nodes/{ident}/maintenance": _node("set_maintenance"),
    "PUT /v1/nodes/{ident}/management/boot_device": _node("set_boot_device"),
    "PUT /v1/nodes/management/boot_device/{ident}": _node("set_boot_device"),
    "PUT /v1/nodes/{ident}/management/indicators/{name}": _node("set_indicator_state"),
    "PUT /v1/nodes/{ident}/management/inject_nmi": _node("inject_nmi"),
    "PUT /v1/nodes/{ident}/states/boot_mode": _node("set_boot_mode"),
    "PUT /v1/nodes/{ident}/states/secure_boot": _node("set_secure_boot"),
    "PUT /v1/nodes/{ident}/states/console": _node("set_console_state"),
    "PUT /v1/nodes/states/console/{ident}": _node("set_console_state"),
    "PUT /v1/nodes/{ident}/states/power": _node("set_power_state"),
    "PUT /v1/nodes/{ident}/states/provision": _node("set_provision_state"),
    "PUT /v1/nodes/{ident}/states/raid": _node("set_raid_state"),
    "PUT /v1/nodes/{ident}/traits": _node("traits:set"),
    "PUT /v1/nodes/{ident}/traits/{trait}": _node("traits:set"),
    "POST /v1/nodes/{ident}/vifs": _node("vif:attach"),
    "POST /v1/nodes/{ident}/vmedia": _node("vmedia:attach"),
    **{f"{verb} /v1/nodes/{{ident}}/vendor_passthru": _VENDOR for verb in _VERBS},
    **{f"{verb} /v1/nodes/{{ident}}/vendor_passthru/{{method}}": _VENDOR for verb in _VERBS},
    **{f"{verb} /v1/drivers/{{name}}/vendor_passthru": _DRIVER for verb in _VERBS},
    **{f"{verb} /v1/drivers/{{name}}/vendor_passthru/{{method}}": _DRIVER for verb in _VERBS},
    "POST /v1/ports": _own("port:create"),
    "PATCH /v1/ports/{ident}": _row("port:update", _port),
    "POST /v1/portgroups": _own("portgroup:create"),
    "PATCH /v1/portgroups/{ident}": _row("portgroup:update", _portgroup),
    "POST /v1/volume/connectors": _own("volume:create"),
    "PATCH /v1/volume/connectors/{uuid}": _row("volume:update", _volume(volumes.CONNECTOR)),
    "POST /v1/volume/targets": _own("volume:create"),
    "PATCH /v1/volume/targets/{uuid}": _row("volume:update", _volume(volumes.TARGET)),
    "POST /v1/allocations": _anything("allocation:create"),
    "PATCH /v1/allocations/{ident}": _row("allocation:update", _allocation),
    "POST /v1/runbooks": _anything("runbook:create"),
    "PATCH /v1/runbooks/{ident}": _row("runbook:update", _runbook),
    "PUT /v1/runbooks/{ident}/traits": _row("runbook:update", _runbook),
    "PUT /v1/runbooks/{ident}/traits/{trait}": _row("runbook:update", _runbook),
    "POST /v1/chassis": _anything("chassis:create"),
    "PATCH /v1/chassis/{uuid}": _anything("chassis:update"),
    "POST /v1/deploy_templates": _anything("deploy_template:create"),
    "PATCH /v1/deploy_templates/{ident}": _anything("deploy_template:update"),
    "POST /v1/inspection_rules": _anything("inspection_rule:create"),
    "PATCH /v1/inspection_rules/{uuid}": _anything("inspection_rule:update"),
    "POST /v1/events": _anything("events:post"),
}
"""What each route with a body asks, by method and path."""

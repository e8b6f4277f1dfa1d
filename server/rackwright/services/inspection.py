# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What becomes of the report that an agent sends during inspection.

The report is stored and evaluated in one transaction with the wake-up of the operation that waits for it.
Source: ``contract/agent-protocol.md`` section 1 (continue_inspection), ``contract/engine.md`` section 9.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from sqlmodel import Session

from rackwright.domain.errors import NodeNotFound
from rackwright.domain.outcomes import WaitFor
from rackwright.domain.states import ProvisionState
from rackwright.engine.inspection import (
    Changes,
    InspectionFailed,
    InspectionOptions,
    Json,
    PortFacts,
    Subject,
    evaluate,
    stages,
    with_capabilities,
)
from rackwright.engine.inventory import Note, bmc_addresses, check, hardware_addresses
from rackwright.engine.operations import wake
from rackwright.services.agents import TOKENS_SINCE, Found, candidates, config, hand_out_token
from rackwright.services.context import Context, check_unlocked
from rackwright.store import inventory as inventories
from rackwright.store import node as nodes
from rackwright.store import port as ports
from rackwright.store.node import Node
from rackwright.store.port import Port

BMC_ADDRESSES = "lookup_bmc_addresses"
"""Key of driver_internal_info: the addresses by which the machine may know its BMC."""

RECEIVED, REFUSED = "inventory_received", "inventory_refused"
"""Facts of the operation: true once the report is there; why a hook refused it (``cause``, ``action``)."""

_BETWEEN = (ProvisionState.INSPECT_WAIT, ProvisionState.INSPECTING)

log = logging.getLogger(__name__)


def continue_inspection(body: Any, *, node_uuid: str | None = None, context: Context) -> Found:
    """Store and evaluate the report of an agent; return what a lookup of its node would return.

    Raises ReportInvalid for the wrong form, NodeNotFound when no single node waits for such a report, NodeLocked while
    a run has the node. A report that a hook refuses is accepted here: the step that waits for it fails with its text.
    """
    session, options = context.session, InspectionOptions.of(context.settings)
    inventory, plugin_data, notes = check(body)
    node = _find(inventory, node_uuid, session)
    plugin_data.pop("logs", None)  # a whole archive, of use for nobody who reads the inventory
    node_id, known = _id(node), ports.of_node(_id(node), session=session)
    facts: dict[str, Any] = {RECEIVED: True}
    try:
        changes = evaluate(stages(options), _subject(inventory, plugin_data, node, known, options))
        notes += [*changes.notes, *_apply(changes, node, known, session)]
        plugin_data |= changes.plugin_data
    except InspectionFailed as failed:
        facts[REFUSED] = {"cause": failed.facts["cause"], "action": failed.facts["action"]}
    _tell(node, notes)
    if notes:
        plugin_data["notes"] = [{"field": note.field, "note": note.text} for note in notes]
    inventories.save(node_id, inventory, plugin_data, session=session)
    wake(session, node, WaitFor.INSPECTION, facts=facts)
    token = hand_out_token(node, context.sealer) if context.minor >= TOKENS_SINCE else None
    session.commit()
    return Found(node, config(node, token, context.settings))


def _find(inventory: dict[str, Any], node_uuid: str | None, session: Session) -> Node:
    """Return the node that waits for the report, locked."""
    addresses = hardware_addresses(inventory["interfaces"])
    found = [nodes.get(node_uuid, session=session)] if node_uuid else candidates(addresses, session=session)
    waiting = [node for node in found or _by_bmc(inventory, session) if node.provision_state in _BETWEEN]
    if len(waiting) != 1:
        names = [node.uuid for node in found]
        log.warning("No single node waits for this report", extra={"addresses": addresses, "candidates": names})
        raise NodeNotFound(ident=f"with one of the addresses {', '.join(addresses)}, waiting for an inspection report,")
    node = nodes.get(waiting[0].uuid, session=session, lock=True)
    check_unlocked(node)
    if node.provision_state != ProvisionState.INSPECT_WAIT:
        raise NodeNotFound(ident=node.uuid)
    return node


def _by_bmc(inventory: dict[str, Any], session: Session) -> Sequence[Node]:
    """Return the waiting nodes whose BMC has an address of the report."""
    told = set(bmc_addresses(inventory))
    waiting = nodes.find(session=session, provision_state=ProvisionState.INSPECT_WAIT.value) if told else ()
    return [node for node in waiting if told & _bmc_addresses_of(node)]


def _bmc_addresses_of(node: Node) -> set[str]:
    """Return the noted addresses of a node's BMC, and the host that driver_info names."""
    named = [str(value) for key, value in node.driver_info.items() if key.endswith("_address")]
    return {_host(text) for text in named} | set(node.driver_internal_info.get(BMC_ADDRESSES) or ())


def _host(text: str) -> str:
    try:
        return urlsplit(text if "//" in text else f"//{text}").hostname or ""
    except ValueError:
        return ""


def _subject(
    inventory: Json, plugin_data: Json, node: Node, known: Sequence[Port], options: InspectionOptions
) -> Subject:
    return Subject(
        inventory,
        plugin_data,
        properties=node.properties,
        instance_info=node.instance_info,
        ports=tuple(PortFacts(port.address, port.pxe_enabled, port.extra) for port in known),
        options=options,
    )


def _apply(changes: Changes, node: Node, known: Sequence[Port], session: Session) -> list[Note]:
    """Write what the hooks want; return notes on the ports that belong to another node."""
    properties = {**node.properties, **changes.properties}
    if changes.capabilities:
        properties["capabilities"] = with_capabilities(properties.get("capabilities"), changes.capabilities)
    node.properties = properties
    session.add(node)
    for port in known:
        if port.address in changes.gone_ports:
            session.delete(port)
        elif port.address in changes.pxe_enabled:
            port.pxe_enabled = changes.pxe_enabled[port.address]
            session.add(port)
    return _add_ports(changes.new_ports, node, session)


def _add_ports(wanted: Sequence[PortFacts], node: Node, session: Session) -> list[Note]:
    others = ports.find(session=session, addresses=[port.address for port in wanted])
    taken = {port.address for port in others}
    session.add_all(
        Port(node_id=_id(node), address=port.address, pxe_enabled=port.pxe_enabled, extra=dict(port.extra))
        for port in wanted
        if port.address not in taken
    )
    return [Note(f"port {address}", "the address belongs to a port of another node") for address in sorted(taken)]


def _tell(node: Node, notes: Sequence[Note]) -> None:
    for note in notes:
        facts = {"node": node.uuid, "field": note.field, "reason": note.text}
        log.warning("A field of the inspection report was not used as it is", extra=facts)


def _id(node: Node) -> int:
    if node.id is None:
        raise NodeNotFound(ident=node.uuid)
    return node.id

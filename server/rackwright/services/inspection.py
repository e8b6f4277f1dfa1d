# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What becomes of the report that an agent sends during inspection.

The report is stored and evaluated in one transaction with the wake-up of the operation that waits for it.
Source: ``contract/agent-protocol.md`` section 1 (continue_inspection), ``contract/engine.md`` section 9.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
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
from rackwright.engine.inspection_actions import HttpCall
from rackwright.engine.inventory import Note, bmc_addresses, check, hardware_addresses
from rackwright.engine.operations import RECEIVED, expects_report, wake
from rackwright.services import rule_runs
from rackwright.services.agents import TOKENS_SINCE, Found, candidates, config, hand_out_token
from rackwright.services.context import Context, check_unlocked
from rackwright.store import inventory as inventories
from rackwright.store import node as nodes
from rackwright.store import operation as rows
from rackwright.store import port as ports
from rackwright.store.node import Node
from rackwright.store.port import Port

BMC_ADDRESSES = "lookup_bmc_addresses"
"""Key of driver_internal_info: the addresses by which the machine may know its BMC."""

REFUSED = "inventory_refused"
"""Fact of the operation: why a hook refused the report (``cause``, ``action``)."""

_BETWEEN = (ProvisionState.INSPECT_WAIT, ProvisionState.INSPECTING)

log = logging.getLogger(__name__)


def continue_inspection(body: Any, *, node_uuid: str | None = None, context: Context) -> Found:
    """Store and evaluate the report of an agent; return what a lookup of its node would return.

    Raises ReportInvalid for the wrong form, NodeNotFound when no single node waits for such a report, NodeLocked while
    a run has the node that does not boot the agent. A report that a hook refuses is accepted here: the step that waits
    for it fails with its text.
    """
    answers: dict[HttpCall, str | None] = {}
    inventory, plugin_data, notes = check(body)
    plugin_data.pop("logs", None)  # a whole archive, of use for nobody who reads the inventory
    while True:
        node = _find(inventory, node_uuid, context.session)
        report = _Report(inventory, deepcopy(plugin_data), list(notes))
        missing = _take_in(report, node, answers, context)
        if not missing:
            break
        context.session.rollback()  # nobody else has to wait with writing until a far server answers
        answers |= {each: rule_runs.call(each) for each in missing}
    token = hand_out_token(node, context.sealer) if context.minor >= TOKENS_SINCE else None
    context.session.commit()
    return Found(node, config(node, token, context.settings))


@dataclass(slots=True)
class _Report:
    """A report of the right form: what the machine is, what else was found, and what was repaired."""

    inventory: dict[str, Any]
    plugin_data: dict[str, Any]
    notes: list[Note]


def _take_in(report: _Report, node: Node, answers: rule_runs.Answers, context: Context) -> list[HttpCall]:
    """Evaluate and store a report and wake who waits for it; return the HTTP calls that rules want made before."""
    session, facts = context.session, dict[str, Any]({RECEIVED: True})
    try:
        with session.begin_nested():
            missing = _evaluate(report, node, answers, context)
        if missing:
            return missing
    except InspectionFailed as failed:
        facts[REFUSED] = {"cause": failed.facts["cause"], "action": failed.facts["action"]}
    _tell(node, report.notes)
    plugin_data = report.plugin_data
    if report.notes:
        plugin_data["notes"] = [{"field": note.field, "note": note.text} for note in report.notes]
    inventories.save(_id(node), report.inventory, plugin_data, session=session)
    wake(session, node, WaitFor.INSPECTION, facts=facts)
    return []


def _evaluate(report: _Report, node: Node, answers: rule_runs.Answers, context: Context) -> list[HttpCall]:
    """Let hooks and rules change the node, its ports and the report, all or nothing; raise InspectionFailed."""
    session, options = context.session, InspectionOptions.of(context.settings)
    known = ports.of_node(_id(node), session=session)
    changes = evaluate(stages(options), _subject(report.inventory, report.plugin_data, node, known, options))
    notes = [*changes.notes, *_apply(changes, node, known, session)]
    plugin_data = deepcopy({**report.plugin_data, **changes.plugin_data})
    missing = rule_runs.run_all(node, report.inventory, plugin_data, answers=answers, context=context)
    report.plugin_data = plugin_data
    report.notes += notes
    return missing


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
    if _is_booting(node, session):
        return node
    check_unlocked(node)
    if node.provision_state != ProvisionState.INSPECT_WAIT:
        raise NodeNotFound(ident=node.uuid)
    return node


def _is_booting(node: Node, session: Session) -> bool:
    """Tell whether the run that boots the agent still has the node: agents give up when they are refused for long."""
    operation = rows.unfinished_of(_id(node), session=session)
    return node.provision_state == ProvisionState.INSPECTING and operation is not None and expects_report(operation)


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

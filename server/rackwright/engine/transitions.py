# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What an operation does to its node: state, target, reservation, error, history.

Every function changes rows of the caller's session and leaves the commit to it.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import Session

from rackwright.domain.outcomes import cut
from rackwright.domain.states import Event, PowerTarget, ProvisionState, next_state
from rackwright.domain.steps import Step
from rackwright.domain.verbs import PHASES, Phase
from rackwright.settings import Settings
from rackwright.store import allocation, history, port
from rackwright.store.history import NodeHistory
from rackwright.store.node import Node
from rackwright.store.operation import Operation
from rackwright.store.portgroup import PORTGROUPS, Portgroup
from rackwright.store.sealing import Sealer
from rackwright.store.volume import VOLUME_TARGETS

EVENT_TYPES = {
    Phase.VERIFY: "verify",
    Phase.INSPECT: "introspection",
    Phase.CLEAN: "cleaning",
    Phase.DEPLOY: "deploying",
    Phase.UNDEPLOY: "unprovision",
    Phase.RESCUE: "rescue",
    Phase.UNRESCUE: "rescue",
    Phase.SERVICE: "servicing",
    Phase.ADOPT: "adoption",
    Phase.POWER: "conductor",
    Phase.MANAGEMENT: "conductor",
    Phase.CHILD: "conductor",
}
"""Names of the phases in the history (contract: node-fields.md, history entry)."""

AGENT_KEYS = (
    "agent_url", "agent_version", "agent_last_heartbeat", "agent_verify_ca", "agent_status", "agent_status_message",
    "agent_secret_token", "agent_secret_token_pregenerated", "agent_token_proved",
)  # fmt: skip
"""What is known of an agent, and no longer true when the machine boots again."""

AGENT_BOOT = "agent_boot"
"""Key of driver_internal_info with fast track: the operation that booted the agent, after which its image is called."""

RESCUE_PASSWORD = "hashed_rescue_password"
"""Key of instance_info: the password of a rescue that is under way, as /etc/shadow has it."""

_INSTANCE_KEYS = ("is_whole_disk_image", "root_uuid_or_disk_id", "deploy_boot_mode", "automatic_lessee")
_LEAVES_AGENT = (Phase.INSPECT, Phase.CLEAN)
_OFF_TARGETS = tuple(target for target in PowerTarget if target is not PowerTarget.ON)


def move(node: Node, event: Event, *, at: datetime, target: ProvisionState | None = None) -> None:
    """Fire ``event``; the target is ``target``, else the node's present one, else the state's own.

    Raises InvalidTransition.
    """
    transition = next_state(ProvisionState(node.provision_state), event)
    traits = transition.target.traits
    kept = target or (node.target_provision_state if transition.who.value == "engine" or _goes_on(event) else None)
    node.target_provision_state = None if traits.stable else (kept or traits.fsm_target)
    node.provision_state = transition.target.value
    node.provision_updated_at = at
    _note_inspection(node, transition.source, transition.target, at)


def _goes_on(event: Event) -> bool:
    """Tell whether a client's event stays within the operation, so that its target stays too."""
    return event in (Event.ABORT, Event.UNHOLD)


def _note_inspection(node: Node, source: ProvisionState, target: ProvisionState, at: datetime) -> None:
    inspecting = (ProvisionState.INSPECTING, ProvisionState.INSPECT_WAIT)
    if target is ProvisionState.INSPECTING and source not in inspecting:
        node.inspection_started_at, node.inspection_finished_at = at, None
    elif target is ProvisionState.MANAGEABLE and source in inspecting:
        node.inspection_started_at, node.inspection_finished_at = None, at
    elif target is ProvisionState.INSPECT_FAILED:
        node.inspection_started_at = None


def show_step(node: Node, phase: Phase, step: Step | None) -> None:
    """Show the running step in the node's field for it; None empties the field."""
    name = PHASES[phase].step_field
    if name is None:
        return
    shown: dict[str, Any] = {}
    if step is not None:
        shown = {
            "step": step.name,
            "interface": step.interface.value,
            "priority": step.priority,
            "abortable": step.abortable,
            "args": step.args,
        }
    setattr(node, name, shown)


def forget_agent(node: Node) -> None:
    """Wipe everything that is known of an agent on this machine."""
    node.driver_internal_info = {
        key: value for key, value in node.driver_internal_info.items() if key not in (*AGENT_KEYS, AGENT_BOOT)
    }


def expect_agent(node: Node, sealer: Sealer) -> None:
    """Make the token that the agent of the coming boot will have, and forget the agent before it."""
    forget_agent(node)
    token = {"agent_secret_token": secrets.token_urlsafe(32), "agent_secret_token_pregenerated": True}
    node.driver_internal_info = {**node.driver_internal_info, **sealer.seal(token)}


def mark_boot(node: Node, operation: str) -> None:
    """Note which operation boots the agent, unless it runs on from an earlier one."""
    node.driver_internal_info = {AGENT_BOOT: operation, **node.driver_internal_info}


def lose_power(node: Node, target: str) -> None:
    """Note that the machine is going to lose what runs on it; a token made in advance stays good."""
    if target in _OFF_TARGETS:
        kept = node.driver_internal_info.get("agent_secret_token_pregenerated")
        stays = AGENT_KEYS[-3:] if kept else ()
        gone = [key for key in AGENT_KEYS if key not in stays]
        node.driver_internal_info = {key: value for key, value in node.driver_internal_info.items() if key not in gone}


def note_image_type(node: Node) -> None:
    """Note whether the image of the instance is one of a whole disk (contract: engine.md section 5)."""
    info = node.instance_info
    told, parts = info.get("image_type"), bool(info.get("kernel") and info.get("ramdisk"))
    whole = told == "whole-disk" if told else not parts
    node.driver_internal_info = {**node.driver_internal_info, "is_whole_disk_image": whole}


def wipe_instance(node: Node, *, session: Session) -> None:
    """Take every trace of an instance off the node (contract: engine.md section 5)."""
    if node.driver_internal_info.get("automatic_lessee"):
        node.lessee = None
    if (allocated := allocation.of_node(node.uuid, session=session)) is not None:
        session.delete(allocated)
    node.instance_info, node.instance_uuid, node.instance_name, node.allocation_uuid = {}, None, None, None
    kept = {key: value for key, value in node.driver_internal_info.items() if key not in _INSTANCE_KEYS}
    node.driver_internal_info = kept
    _drop_attachments(node.id or 0, session=session)


def _drop_attachments(node_id: int, *, session: Session) -> None:
    """Detach every VIF and forget the volumes that the instance had."""
    carriers: list[port.Port | Portgroup] = [*port.of_node(node_id, session=session)]
    for each in (*carriers, *PORTGROUPS.find(session=session, node_id=node_id)):
        if port.VIF in each.internal_info:
            each.internal_info = {key: value for key, value in each.internal_info.items() if key != port.VIF}
            session.add(each)
    for volume in VOLUME_TARGETS.find(session=session, node_id=node_id):
        session.delete(volume)


def succeed(operation: Operation, node: Node, *, at: datetime) -> None:
    """Fire the event that a phase ends with when all its steps are done; undeploying is no end of its own."""
    phase = Phase(operation.phase)
    show_step(node, phase, None)
    node.reservation = None
    if phase is Phase.POWER:
        node.target_power_state = None
    if PHASES[phase].running is None:
        return
    if phase not in _LEAVES_AGENT or AGENT_BOOT not in node.driver_internal_info:
        forget_agent(node)
    _forget_rescue(node, phase)
    manage = phase is Phase.CLEAN and (node.target_provision_state == ProvisionState.MANAGEABLE or node.retired)
    move(node, Event.MANAGE if manage else PHASES[phase].success_event, at=at)


def fail(operation: Operation, node: Node, *, at: datetime, session: Session) -> None:
    """Fire the event that a phase ends with when it has failed or was aborted, and say why."""
    phase = Phase(operation.phase)
    show_step(node, phase, None)
    node.reservation = None
    if phase is not Phase.MANAGEMENT or operation.verb is not None:  # else somebody waits for the answer
        node.last_error = cut(operation.error or "", 4096)
    if phase is Phase.POWER:
        node.target_power_state = None
    if PHASES[phase].running is None:
        return
    forget_agent(node)
    if phase is Phase.UNDEPLOY:
        wipe_instance(node, session=session)
    if phase is Phase.ADOPT:
        node.power_state = None
    _forget_rescue(node, phase)
    _fire_failure(operation, node, phase, at)


def _forget_rescue(node: Node, phase: Phase) -> None:
    if phase is Phase.RESCUE:
        node.instance_info = {key: value for key, value in node.instance_info.items() if key != RESCUE_PASSWORD}


def _fire_failure(operation: Operation, node: Node, phase: Phase, at: datetime) -> None:
    state = ProvisionState(node.provision_state)
    hold = state is PHASES[phase].hold
    if phase is Phase.SERVICE and operation.abort_requested:
        move(node, Event.FAIL, at=at)
        move(node, Event.ABORT, at=at)
    else:
        move(node, Event.ABORT if hold else PHASES[phase].failure_event, at=at)


def blame(node: Node, phase: Phase, step: Step | None, reason: str) -> None:
    """Put a node into maintenance whose cleaning or servicing broke in the middle of its work."""
    faults = {Phase.CLEAN: "clean failure", Phase.SERVICE: "service failure"}
    if phase in faults and step is not None and step.stage == "work":
        node.maintenance = True
        node.fault = faults[phase]
        node.maintenance_reason = node.maintenance_reason or reason


def blame_abort(node: Node, phase: Phase, reason: str) -> None:
    """Put a node into maintenance that could not be cleaned up after its rescue was aborted."""
    if phase is Phase.RESCUE:
        node.maintenance, node.fault = True, "rescue abort failure"
        node.maintenance_reason = node.maintenance_reason or reason


@dataclass(frozen=True, slots=True)
class Place:
    """Where a node was in its life: its state, the target, and since when."""

    state: str
    target: str | None
    since: datetime | None

    @classmethod
    def of(cls, node: Node) -> Place:
        """Return where a node is now."""
        return cls(node.provision_state, node.target_provision_state, node.provision_updated_at)


def record(
    node: Node,
    event: str,
    *,
    session: Session,
    settings: Settings,
    event_type: str,
    severity: str = "ERROR",
    **more: Any,
) -> None:
    """Write one entry of the node's history, and drop the oldest above the limit.

    ``place`` is where the node was when it happened, by default where it is now; ``at`` is when.
    """
    if not settings.node_history or node.id is None:
        return
    place: Place = more.pop("place", None) or Place.of(node)
    at: datetime | None = more.pop("at", None)
    history.add(
        NodeHistory(
            node_id=node.id,
            severity=severity,
            event_type=event_type,
            event=event,
            conductor=settings.conductor_host,
            state=place.state,
            target_provision_state=place.target,
            duration_seconds=int((at - place.since).total_seconds()) if at and place.since else None,
            **more,
        ),
        session=session,
    )
    if settings.node_history_max_entries:
        session.flush()
        history.trim(node.id, keep=settings.node_history_max_entries, session=session)

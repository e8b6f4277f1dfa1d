# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The provision states of a node, what holds in each, and the events that lead from one to the next.

States, events and their strings are Ironic's (``contract/state-machine.yaml``). Everything here is data; the only
function looks a transition up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from types import MappingProxyType

from rackwright.domain.errors import InvalidTransition


class ProvisionState(StrEnum):
    """Where a node is in its life."""

    ENROLL = "enroll"
    """The node is known, but nobody has checked yet that its BMC answers and that its credentials are right."""
    VERIFYING = "verifying"
    """The BMC is being reached for the first time, to check the credentials and read the power state."""
    MANAGEABLE = "manageable"
    """The BMC is under control; the node can be inspected, cleaned or adopted, and is not offered to users."""
    AVAILABLE = "available"
    """The node is clean and waits to be deployed."""
    ACTIVE = "active"
    """An instance runs on the node."""
    ERROR = "error"
    """Undeploying failed; the instance may still be there, so delete or rebuild it."""
    RESCUE = "rescue"
    """The rescue ramdisk runs on the node and its user can log in with the rescue password."""
    DEPLOYING = "deploying"
    """A deploy step is running."""
    DEPLOY_WAIT = "wait call-back"
    """The deployment waits: the ramdisk boots, or its agent is busy with a deploy step."""
    DEPLOY_FAILED = "deploy failed"
    """A deploy step failed, or its wait ran out; last_error names the step, the cause and what to do."""
    DEPLOY_HOLD = "deploy hold"
    """The deployment stopped at a hold step until somebody sends unhold or abort."""
    CLEANING = "cleaning"
    """A clean step is running."""
    CLEAN_WAIT = "clean wait"
    """Cleaning waits: the ramdisk boots, or its agent is busy with a clean step."""
    CLEAN_FAILED = "clean failed"
    """A clean step failed, or its wait ran out; the node must be managed before it is cleaned again."""
    CLEAN_HOLD = "clean hold"
    """Cleaning stopped at a hold step until somebody sends unhold or abort."""
    DELETING = "deleting"
    """The instance is being taken off the node; cleaning follows."""
    INSPECTING = "inspecting"
    """The hardware is being read, through the BMC or by evaluating what the agent reported."""
    INSPECT_WAIT = "inspect wait"
    """Inspection waits for the report of the agent in the ramdisk."""
    INSPECT_FAILED = "inspect failed"
    """Inspection failed, or the report did not arrive in time."""
    ADOPTING = "adopting"
    """A machine that already runs an instance is being taken over without touching it."""
    ADOPT_FAILED = "adopt failed"
    """The machine could not be taken over; correct the node and adopt it again."""
    RESCUING = "rescuing"
    """The node is being switched from its instance to the rescue ramdisk."""
    RESCUE_WAIT = "rescue wait"
    """The rescue ramdisk boots; its agent has not reported yet."""
    RESCUE_FAILED = "rescue failed"
    """The rescue ramdisk did not come up; rescue again, unrescue or delete."""
    UNRESCUING = "unrescuing"
    """The node is being switched from the rescue ramdisk back to its instance."""
    UNRESCUE_FAILED = "unrescue failed"
    """The instance could not be brought back; unrescue again, rescue or delete."""
    SERVICING = "servicing"
    """A service step is running on a node that keeps its instance."""
    SERVICE_WAIT = "service wait"
    """Servicing waits: the ramdisk boots, or its agent is busy with a service step."""
    SERVICE_FAILED = "service failed"
    """A service step failed, or its wait ran out; service again, or abort to go back to the instance."""
    SERVICE_HOLD = "service hold"
    """Servicing stopped at a hold step until somebody sends unhold, service or abort."""

    @property
    def traits(self) -> StateTraits:
        """Return what holds in this state."""
        return TRAITS[self]


class PowerState(StrEnum):
    """What a BMC says about the power of its machine."""

    ON = "power on"
    OFF = "power off"
    ERROR = "error"


class PowerTarget(StrEnum):
    """What a client may ask of the power of a machine."""

    ON = "power on"
    OFF = "power off"
    REBOOTING = "rebooting"
    SOFT_REBOOTING = "soft rebooting"
    SOFT_OFF = "soft power off"


class Event(StrEnum):
    """What moves a node from state to state."""

    ABORT = "abort"
    ADOPT = "adopt"
    CLEAN = "clean"
    DELETE = "delete"
    DEPLOY = "deploy"
    DONE = "done"
    FAIL = "fail"
    HOLD = "hold"
    INSPECT = "inspect"
    MANAGE = "manage"
    PROVIDE = "provide"
    REBUILD = "rebuild"
    RESCUE = "rescue"
    RESUME = "resume"
    SERVICE = "service"
    UNHOLD = "unhold"
    UNRESCUE = "unrescue"
    WAIT = "wait"


class Who(StrEnum):
    """Who may fire an event: a client through the API, or only the engine."""

    API = "api"
    ENGINE = "engine"


class NetworkRole(StrEnum):
    """The network that the ports of a node belong to."""

    CLEANING = "cleaning"
    IDLE = "idle"
    INSPECTION = "inspection"
    PROVISIONING = "provisioning"
    RESCUING = "rescuing"
    SERVICING = "servicing"
    TENANT = "tenant"


class DeleteAllowed(StrEnum):
    """Whether the node may be removed in a state without being in maintenance."""

    NO = "no"
    YES = "yes"
    CONFIG = "config"
    """Decided by the setting allow_deleting_available_nodes."""


@dataclass(frozen=True, slots=True)
class StateTraits:
    """What holds while a node is in one state (contract: ``states`` and ``states_notes``)."""

    stable: bool = False  # the node rests here with target_provision_state null
    fsm_target: ProvisionState | None = None  # the target written on entering
    unstable_list: bool = False  # work is under way
    failure_state: bool = False
    on_fail: ProvisionState | None = None  # where event fail leads, taken from TRANSITIONS
    fail_on_conductor_start: bool = False  # unlocked nodes found here at start get event fail
    patch_allowed_when_target_set: bool = False
    delete_allowed: DeleteAllowed = DeleteAllowed.NO
    lookup: bool = False  # the agent may look itself up; the next line holds with fast track on
    lookup_fast_track: bool = False
    heartbeat: bool = False  # a heartbeat changes the node; the next line holds with fast track on
    heartbeat_fast_track: bool = False
    heartbeat_record_only: bool = False  # it is stored, but moves no step on
    power_api: bool = True  # clients may change the power
    power_sync: bool = True  # the power is compared with the BMC now and then
    network_role: NetworkRole = NetworkRole.IDLE


_S = ProvisionState
_REST = StateTraits(
    stable=True,
    delete_allowed=DeleteAllowed.YES,
    lookup_fast_track=True,
    heartbeat_fast_track=True,
    heartbeat_record_only=True,
)
_USED = StateTraits(stable=True)
_BUSY = StateTraits(unstable_list=True, fail_on_conductor_start=True)
_BUSY_AGENT = replace(
    _BUSY,
    lookup=True,
    lookup_fast_track=True,
    heartbeat=True,
    heartbeat_fast_track=True,
    heartbeat_record_only=True,
)
_WAIT = replace(_BUSY_AGENT, fail_on_conductor_start=False, heartbeat_record_only=False)
_FAILED = StateTraits(failure_state=True, patch_allowed_when_target_set=True)
_HOLD = StateTraits(heartbeat=True, heartbeat_fast_track=True, heartbeat_record_only=True)
_INSPECTS = replace(
    _BUSY,
    fsm_target=_S.MANAGEABLE,
    patch_allowed_when_target_set=True,
    lookup=True,
    lookup_fast_track=True,
    network_role=NetworkRole.INSPECTION,
)

_ROWS: Mapping[ProvisionState, StateTraits] = {
    _S.ENROLL: replace(_REST, power_sync=False),
    _S.MANAGEABLE: _REST,
    _S.AVAILABLE: replace(_REST, delete_allowed=DeleteAllowed.CONFIG),
    _S.ACTIVE: replace(_USED, network_role=NetworkRole.TENANT),
    _S.ERROR: replace(_USED, patch_allowed_when_target_set=True),
    _S.RESCUE: replace(_USED, network_role=NetworkRole.RESCUING),
    _S.VERIFYING: replace(_BUSY, fsm_target=_S.MANAGEABLE, patch_allowed_when_target_set=True),
    _S.DEPLOYING: replace(_BUSY_AGENT, fsm_target=_S.ACTIVE, network_role=NetworkRole.PROVISIONING),
    _S.DEPLOY_WAIT: replace(_WAIT, fsm_target=_S.ACTIVE, power_sync=False, network_role=NetworkRole.PROVISIONING),
    _S.DEPLOY_FAILED: replace(_FAILED, fsm_target=_S.ACTIVE),
    _S.DEPLOY_HOLD: replace(_HOLD, fsm_target=_S.ACTIVE),
    _S.CLEANING: replace(_BUSY_AGENT, fsm_target=_S.AVAILABLE, power_api=False, network_role=NetworkRole.CLEANING),
    _S.CLEAN_WAIT: replace(
        _WAIT, fsm_target=_S.AVAILABLE, power_api=False, power_sync=False, network_role=NetworkRole.CLEANING
    ),
    _S.CLEAN_FAILED: replace(_FAILED, fsm_target=_S.AVAILABLE),
    _S.CLEAN_HOLD: replace(_HOLD, fsm_target=_S.AVAILABLE),
    _S.DELETING: replace(_BUSY, fsm_target=_S.AVAILABLE),
    _S.INSPECTING: _INSPECTS,
    _S.INSPECT_WAIT: replace(_INSPECTS, fail_on_conductor_start=False),
    _S.INSPECT_FAILED: replace(_FAILED, fsm_target=_S.MANAGEABLE),
    _S.ADOPTING: replace(_BUSY, fsm_target=_S.ACTIVE),
    _S.ADOPT_FAILED: replace(_FAILED, fsm_target=_S.ACTIVE, delete_allowed=DeleteAllowed.YES, power_sync=False),
    _S.RESCUING: replace(_BUSY_AGENT, fsm_target=_S.RESCUE, network_role=NetworkRole.RESCUING),
    _S.RESCUE_WAIT: replace(_WAIT, fsm_target=_S.RESCUE, network_role=NetworkRole.RESCUING),
    _S.RESCUE_FAILED: replace(_FAILED, fsm_target=_S.RESCUE),
    _S.UNRESCUING: replace(_BUSY, fsm_target=_S.ACTIVE),
    _S.UNRESCUE_FAILED: replace(_FAILED, fsm_target=_S.ACTIVE),
    _S.SERVICING: replace(_BUSY_AGENT, fsm_target=_S.ACTIVE, lookup=False, network_role=NetworkRole.SERVICING),
    _S.SERVICE_WAIT: replace(_WAIT, fsm_target=_S.ACTIVE, network_role=NetworkRole.SERVICING),
    _S.SERVICE_FAILED: replace(_FAILED, fsm_target=_S.ACTIVE),
    _S.SERVICE_HOLD: replace(_HOLD, fsm_target=_S.ACTIVE, patch_allowed_when_target_set=True, lookup_fast_track=True),
}


@dataclass(frozen=True, slots=True)
class Transition:
    """One arrow of the machine: in ``source``, ``event`` leads to ``target``."""

    source: ProvisionState
    event: Event
    target: ProvisionState
    who: Who
    beyond_ironic: bool = False  # Ironic refuses it; contract: accepted_beyond_ironic

    @property
    def target_after(self) -> ProvisionState | None:
        """Return the target_provision_state that is written on arrival; null where the node rests."""
        return TRAITS[self.target].fsm_target


_T, _E, _API, _ENGINE = Transition, Event, Who.API, Who.ENGINE

TRANSITIONS: tuple[Transition, ...] = (
    _T(_S.ACTIVE, _E.DELETE, _S.DELETING, _API),
    _T(_S.ACTIVE, _E.REBUILD, _S.DEPLOYING, _API),
    _T(_S.ACTIVE, _E.RESCUE, _S.RESCUING, _API),
    _T(_S.ACTIVE, _E.SERVICE, _S.SERVICING, _API),
    _T(_S.ADOPT_FAILED, _E.ADOPT, _S.ADOPTING, _API),
    _T(_S.ADOPT_FAILED, _E.MANAGE, _S.MANAGEABLE, _API),
    _T(_S.ADOPTING, _E.DONE, _S.ACTIVE, _ENGINE),
    _T(_S.ADOPTING, _E.FAIL, _S.ADOPT_FAILED, _ENGINE),
    _T(_S.AVAILABLE, _E.DEPLOY, _S.DEPLOYING, _API),
    _T(_S.AVAILABLE, _E.MANAGE, _S.MANAGEABLE, _API),
    _T(_S.CLEAN_FAILED, _E.MANAGE, _S.MANAGEABLE, _API),
    _T(_S.CLEAN_HOLD, _E.ABORT, _S.CLEAN_FAILED, _API),
    _T(_S.CLEAN_HOLD, _E.UNHOLD, _S.CLEAN_WAIT, _API),
    _T(_S.CLEAN_WAIT, _E.ABORT, _S.CLEAN_FAILED, _API),
    _T(_S.CLEAN_WAIT, _E.FAIL, _S.CLEAN_FAILED, _ENGINE),
    _T(_S.CLEAN_WAIT, _E.HOLD, _S.CLEAN_HOLD, _ENGINE),
    _T(_S.CLEAN_WAIT, _E.RESUME, _S.CLEANING, _ENGINE),
    _T(_S.CLEANING, _E.DONE, _S.AVAILABLE, _ENGINE),
    _T(_S.CLEANING, _E.FAIL, _S.CLEAN_FAILED, _ENGINE),
    _T(_S.CLEANING, _E.HOLD, _S.CLEAN_HOLD, _ENGINE),
    _T(_S.CLEANING, _E.MANAGE, _S.MANAGEABLE, _ENGINE),
    _T(_S.CLEANING, _E.WAIT, _S.CLEAN_WAIT, _ENGINE),
    _T(_S.DELETING, _E.CLEAN, _S.CLEANING, _ENGINE),
    _T(_S.DELETING, _E.FAIL, _S.ERROR, _ENGINE),
    _T(_S.DEPLOY_FAILED, _E.DELETE, _S.DELETING, _API),
    _T(_S.DEPLOY_FAILED, _E.DEPLOY, _S.DEPLOYING, _API),
    _T(_S.DEPLOY_FAILED, _E.MANAGE, _S.MANAGEABLE, _API, beyond_ironic=True),
    _T(_S.DEPLOY_FAILED, _E.REBUILD, _S.DEPLOYING, _API),
    _T(_S.DEPLOY_HOLD, _E.ABORT, _S.DEPLOY_FAILED, _API),
    _T(_S.DEPLOY_HOLD, _E.UNHOLD, _S.DEPLOY_WAIT, _API),
    _T(_S.DEPLOYING, _E.DONE, _S.ACTIVE, _ENGINE),
    _T(_S.DEPLOYING, _E.FAIL, _S.DEPLOY_FAILED, _ENGINE),
    _T(_S.DEPLOYING, _E.HOLD, _S.DEPLOY_HOLD, _ENGINE),
    _T(_S.DEPLOYING, _E.WAIT, _S.DEPLOY_WAIT, _ENGINE),
    _T(_S.ENROLL, _E.MANAGE, _S.VERIFYING, _API),
    _T(_S.ERROR, _E.DELETE, _S.DELETING, _API),
    _T(_S.ERROR, _E.REBUILD, _S.DEPLOYING, _API),
    _T(_S.INSPECT_FAILED, _E.INSPECT, _S.INSPECTING, _API),
    _T(_S.INSPECT_FAILED, _E.MANAGE, _S.MANAGEABLE, _API),
    _T(_S.INSPECT_WAIT, _E.ABORT, _S.INSPECT_FAILED, _API),
    _T(_S.INSPECT_WAIT, _E.DONE, _S.MANAGEABLE, _ENGINE),
    _T(_S.INSPECT_WAIT, _E.FAIL, _S.INSPECT_FAILED, _ENGINE),
    _T(_S.INSPECT_WAIT, _E.RESUME, _S.INSPECTING, _ENGINE),
    _T(_S.INSPECTING, _E.DONE, _S.MANAGEABLE, _ENGINE),
    _T(_S.INSPECTING, _E.FAIL, _S.INSPECT_FAILED, _ENGINE),
    _T(_S.INSPECTING, _E.WAIT, _S.INSPECT_WAIT, _ENGINE),
    _T(_S.MANAGEABLE, _E.ADOPT, _S.ADOPTING, _API),
    _T(_S.MANAGEABLE, _E.CLEAN, _S.CLEANING, _API),
    _T(_S.MANAGEABLE, _E.INSPECT, _S.INSPECTING, _API),
    _T(_S.MANAGEABLE, _E.PROVIDE, _S.CLEANING, _API),
    _T(_S.RESCUE, _E.DELETE, _S.DELETING, _API),
    _T(_S.RESCUE, _E.RESCUE, _S.RESCUING, _API),
    _T(_S.RESCUE, _E.UNRESCUE, _S.UNRESCUING, _API),
    _T(_S.RESCUE_FAILED, _E.DELETE, _S.DELETING, _API),
    _T(_S.RESCUE_FAILED, _E.MANAGE, _S.MANAGEABLE, _API, beyond_ironic=True),
    _T(_S.RESCUE_FAILED, _E.RESCUE, _S.RESCUING, _API),
    _T(_S.RESCUE_FAILED, _E.UNRESCUE, _S.UNRESCUING, _API),
    _T(_S.RESCUE_WAIT, _E.ABORT, _S.RESCUE_FAILED, _API),
    _T(_S.RESCUE_WAIT, _E.DELETE, _S.DELETING, _API),
    _T(_S.RESCUE_WAIT, _E.FAIL, _S.RESCUE_FAILED, _ENGINE),
    _T(_S.RESCUE_WAIT, _E.RESUME, _S.RESCUING, _ENGINE),
    _T(_S.RESCUING, _E.DONE, _S.RESCUE, _ENGINE),
    _T(_S.RESCUING, _E.FAIL, _S.RESCUE_FAILED, _ENGINE),
    _T(_S.RESCUING, _E.WAIT, _S.RESCUE_WAIT, _ENGINE),
    _T(_S.SERVICE_FAILED, _E.ABORT, _S.ACTIVE, _API),
    _T(_S.SERVICE_FAILED, _E.DELETE, _S.DELETING, _API),
    _T(_S.SERVICE_FAILED, _E.HOLD, _S.SERVICE_HOLD, _ENGINE),
    _T(_S.SERVICE_FAILED, _E.MANAGE, _S.MANAGEABLE, _API, beyond_ironic=True),
    _T(_S.SERVICE_FAILED, _E.RESCUE, _S.RESCUING, _API),
    _T(_S.SERVICE_FAILED, _E.SERVICE, _S.SERVICING, _API),
    _T(_S.SERVICE_FAILED, _E.WAIT, _S.SERVICE_WAIT, _ENGINE),
    _T(_S.SERVICE_HOLD, _E.ABORT, _S.SERVICE_FAILED, _API),
    _T(_S.SERVICE_HOLD, _E.FAIL, _S.SERVICE_FAILED, _ENGINE),
    _T(_S.SERVICE_HOLD, _E.SERVICE, _S.SERVICING, _API),
    _T(_S.SERVICE_HOLD, _E.UNHOLD, _S.SERVICE_WAIT, _API),
    _T(_S.SERVICE_WAIT, _E.ABORT, _S.SERVICE_FAILED, _API),
    _T(_S.SERVICE_WAIT, _E.DELETE, _S.DELETING, _API),
    _T(_S.SERVICE_WAIT, _E.FAIL, _S.SERVICE_FAILED, _ENGINE),
    _T(_S.SERVICE_WAIT, _E.HOLD, _S.SERVICE_HOLD, _ENGINE),
    _T(_S.SERVICE_WAIT, _E.RESUME, _S.SERVICING, _ENGINE),
    _T(_S.SERVICING, _E.DONE, _S.ACTIVE, _ENGINE),
    _T(_S.SERVICING, _E.FAIL, _S.SERVICE_FAILED, _ENGINE),
    _T(_S.SERVICING, _E.HOLD, _S.SERVICE_HOLD, _ENGINE),
    _T(_S.SERVICING, _E.WAIT, _S.SERVICE_WAIT, _ENGINE),
    _T(_S.UNRESCUE_FAILED, _E.DELETE, _S.DELETING, _API),
    _T(_S.UNRESCUE_FAILED, _E.RESCUE, _S.RESCUING, _API),
    _T(_S.UNRESCUE_FAILED, _E.UNRESCUE, _S.UNRESCUING, _API),
    _T(_S.UNRESCUING, _E.DONE, _S.ACTIVE, _ENGINE),
    _T(_S.UNRESCUING, _E.FAIL, _S.UNRESCUE_FAILED, _ENGINE),
    _T(_S.VERIFYING, _E.DONE, _S.MANAGEABLE, _ENGINE),
    _T(_S.VERIFYING, _E.FAIL, _S.ENROLL, _ENGINE),
    _T(_S.DEPLOY_WAIT, _E.ABORT, _S.DEPLOY_FAILED, _API),
    _T(_S.DEPLOY_WAIT, _E.DELETE, _S.DELETING, _API),
    _T(_S.DEPLOY_WAIT, _E.FAIL, _S.DEPLOY_FAILED, _ENGINE),
    _T(_S.DEPLOY_WAIT, _E.HOLD, _S.DEPLOY_HOLD, _ENGINE),
    _T(_S.DEPLOY_WAIT, _E.RESUME, _S.DEPLOYING, _ENGINE),
)

_BY_PAIR = {(each.source, each.event): each for each in TRANSITIONS}

TRAITS: Mapping[ProvisionState, StateTraits] = MappingProxyType(
    {
        state: replace(row, on_fail=fail.target if (fail := _BY_PAIR.get((state, Event.FAIL))) else None)
        for state, row in _ROWS.items()
    }
)


def next_state(state: ProvisionState, event: Event) -> Transition:
    """Return the transition that ``event`` causes in ``state``; raise InvalidTransition when there is none."""
    try:
        return _BY_PAIR[state, event]
    except KeyError:
        raise InvalidTransition(event=event.value, state=state.value) from None

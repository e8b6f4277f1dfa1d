# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What clients may ask of a node's provision state, and the phase of work that each wish starts.

Source: ``contract/state-machine.yaml`` (verbs, verb_check_order), ``contract/engine.md`` section 4 (interface order).
API versions are given as their minor number: 41 means 1.41.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from rackwright.domain.errors import InvalidState, InvalidTransition, NotAcceptableVersion, UnknownVerb
from rackwright.domain.states import TRANSITIONS, Event, ProvisionState, Transition, Who, next_state


@dataclass(frozen=True, slots=True)
class Verb:
    """One provision target that a client may send."""

    target: str
    event: Event
    since: int
    arguments: Mapping[str, int] = field(default_factory=dict)  # body argument to the version that brought it
    since_in: Mapping[ProvisionState, int] = field(default_factory=dict)  # states that need a later version
    legality_first: bool = False  # an illegal state is reported before a version that is too old


VERBS: Mapping[str, Verb] = MappingProxyType(
    {
        verb.target: verb
        for verb in (
            Verb("active", Event.DEPLOY, 1, {"configdrive": 1, "deploy_steps": 69}),
            Verb("deploy", Event.DEPLOY, 73),
            Verb("rebuild", Event.REBUILD, 1, {"configdrive": 35, "deploy_steps": 69}),
            Verb("deleted", Event.DELETE, 1),
            Verb("undeploy", Event.DELETE, 1),  # documented since 1.73, but older versions are accepted too
            Verb("manage", Event.MANAGE, 4),
            Verb("provide", Event.PROVIDE, 4),
            Verb("inspect", Event.INSPECT, 6),
            Verb(
                "abort",
                Event.ABORT,
                13,
                since_in={ProvisionState.INSPECT_WAIT: 41, ProvisionState.DEPLOY_WAIT: 110},
            ),
            Verb("clean", Event.CLEAN, 15, {"clean_steps": 15, "disable_ramdisk": 70, "runbook": 92}),
            Verb("adopt", Event.ADOPT, 17),
            Verb("rescue", Event.RESCUE, 38, {"rescue_password": 38}),
            Verb("unrescue", Event.UNRESCUE, 38),
            Verb("unhold", Event.UNHOLD, 85, legality_first=True),
            Verb(
                "service",
                Event.SERVICE,
                87,
                {"service_steps": 87, "disable_ramdisk": 108, "runbook": 92},
                legality_first=True,
            ),
        )
    }
)


class Phase(StrEnum):
    """A kind of work on a node, done as a list of steps."""

    VERIFY = "verify"
    INSPECT = "inspect"
    CLEAN = "clean"
    DEPLOY = "deploy"
    UNDEPLOY = "undeploy"
    RESCUE = "rescue"
    UNRESCUE = "unrescue"
    SERVICE = "service"
    ADOPT = "adopt"
    POWER = "power"
    MANAGEMENT = "management"
    CHILD = "child"
    """Steps that the operation of a parent node has its children take."""


class Interface(StrEnum):
    """A kind of driver interface."""

    BIOS = "bios"
    BOOT = "boot"
    CONSOLE = "console"
    DEPLOY = "deploy"
    FIRMWARE = "firmware"
    INSPECT = "inspect"
    MANAGEMENT = "management"
    NETWORK = "network"
    POWER = "power"
    RAID = "raid"
    RESCUE = "rescue"
    STORAGE = "storage"
    VENDOR = "vendor"


_I = Interface
_EVERY = (
    *(_I.POWER, _I.MANAGEMENT, _I.FIRMWARE, _I.INSPECT, _I.DEPLOY, _I.BOOT, _I.BIOS),
    *(_I.RAID, _I.VENDOR, _I.NETWORK, _I.STORAGE, _I.CONSOLE, _I.RESCUE),
)
_CHANGING = (_I.VENDOR, _I.POWER, _I.MANAGEMENT, _I.FIRMWARE, _I.DEPLOY, _I.BIOS, _I.RAID)


def _first(*chosen: Interface) -> tuple[Interface, ...]:
    """Return all interfaces, the chosen ones first: steps that surround the work may belong to any of them."""
    return chosen + tuple(kind for kind in _EVERY if kind not in chosen)


@dataclass(frozen=True, slots=True)
class PhaseTraits:
    """The states, events, options and names of one phase.

    Power actions, BMC queries and steps for a parent leave the provision state alone; their states are None. So is
    ``waiting`` of a phase whose state does not change while it waits.
    """

    running: ProvisionState | None = None
    waiting: ProvisionState | None = None
    hold: ProvisionState | None = None
    success_event: Event = Event.DONE
    failure_event: Event = Event.FAIL
    timeout_option: str | None = None
    steps_argument: str | None = None  # the verb's body argument with the steps of the user
    step_field: str | None = None  # node field that shows the running step
    interfaces: tuple[Interface, ...] = _EVERY  # at equal priority the earlier one goes first


_P = ProvisionState

PHASES: Mapping[Phase, PhaseTraits] = MappingProxyType(
    {
        Phase.VERIFY: PhaseTraits(_P.VERIFYING),
        Phase.INSPECT: PhaseTraits(_P.INSPECTING, _P.INSPECT_WAIT, timeout_option="inspect_wait_timeout"),
        Phase.CLEAN: PhaseTraits(
            _P.CLEANING,
            _P.CLEAN_WAIT,
            _P.CLEAN_HOLD,
            timeout_option="clean_callback_timeout",
            steps_argument="clean_steps",
            step_field="clean_step",
            interfaces=_first(*_CHANGING),
        ),
        Phase.DEPLOY: PhaseTraits(
            _P.DEPLOYING,
            _P.DEPLOY_WAIT,
            _P.DEPLOY_HOLD,
            timeout_option="deploy_callback_timeout",
            steps_argument="deploy_steps",
            step_field="deploy_step",
            interfaces=_first(*_CHANGING),
        ),
        Phase.UNDEPLOY: PhaseTraits(_P.DELETING, success_event=Event.CLEAN),
        Phase.RESCUE: PhaseTraits(_P.RESCUING, _P.RESCUE_WAIT, timeout_option="rescue_callback_timeout"),
        Phase.UNRESCUE: PhaseTraits(_P.UNRESCUING),
        Phase.SERVICE: PhaseTraits(
            _P.SERVICING,
            _P.SERVICE_WAIT,
            _P.SERVICE_HOLD,
            timeout_option="service_callback_timeout",
            steps_argument="service_steps",
            step_field="service_step",
            interfaces=_first(_I.NETWORK, *_CHANGING),
        ),
        Phase.ADOPT: PhaseTraits(_P.ADOPTING),
        Phase.POWER: PhaseTraits(),
        Phase.MANAGEMENT: PhaseTraits(),
        Phase.CHILD: PhaseTraits(interfaces=_first(*_CHANGING)),
    }
)

_PHASE_OF = MappingProxyType(
    {
        state: phase
        for phase, traits in PHASES.items()
        for state in (traits.running, traits.waiting, traits.hold)
        if state is not None
    }
)


def phase_of(state: ProvisionState) -> Phase | None:
    """Return the phase that is under way in ``state``, or None where no phase is.

    The phase that a verb starts is the phase of its transition's target.
    """
    return _PHASE_OF.get(state)


def possible(state: ProvisionState) -> tuple[str, ...]:
    """Return the targets that a client may send in ``state``, in the order of VERBS."""
    events = {each.event for each in TRANSITIONS if each.source is state and each.who is Who.API}
    return tuple(verb.target for verb in VERBS.values() if verb.event in events)


def event_for(target: str, version_minor: int) -> Event:
    """Return the event of a verb.

    Raise UnknownVerb, or NotAcceptableVersion where the version is checked before the state.
    """
    verb = _verb(target)
    if not verb.legality_first:
        _demand(verb, verb.since, version_minor)
    return verb.event


def transition_for(state: ProvisionState, target: str, version_minor: int) -> Transition:
    """Return what a verb does in ``state``; events that only the engine may fire are refused.

    Raise UnknownVerb, NotAcceptableVersion or InvalidState, in the order of the contract's verb_check_order.
    """
    verb = _verb(target)
    event = event_for(target, version_minor)
    try:
        transition = next_state(state, event)
    except InvalidTransition as error:
        raise _illegal(state, target) from error
    if transition.who is not Who.API:
        raise _illegal(state, target)
    _demand(verb, verb.since_in.get(state, verb.since), version_minor)
    return transition


def _verb(target: str) -> Verb:
    if target not in VERBS:
        raise UnknownVerb(target=target, known=", ".join(VERBS))
    return VERBS[target]


def _demand(verb: Verb, since: int, minor: int) -> None:
    if minor < since:
        raise NotAcceptableVersion(what=f"provision target {verb.target}", since=since, minor=minor)


def _illegal(state: ProvisionState, target: str) -> InvalidState:
    return InvalidState(verb=target, state=state.value, possible=", ".join(possible(state)) or "none")

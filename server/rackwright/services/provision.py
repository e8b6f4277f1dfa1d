# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Provision verbs: check a wish against the rules and give it to the engine.

The checks come in the order of the contract (state-machine.yaml, verb_check_order).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rackwright.domain.errors import (
    Conflict,
    Invalid,
    InvalidState,
    MissingParameter,
    NodeInMaintenance,
    NodeProtected,
    NotAcceptableVersion,
)
from rackwright.domain.states import Event, ProvisionState, Transition
from rackwright.domain.steps import StepRequest
from rackwright.domain.verbs import VERBS, Interface, Phase, event_for, phase_of, transition_for
from rackwright.engine import composition, plan, transitions
from rackwright.services import access, config_drive, deploy_templates, node_access, nodes, runbooks, validate
from rackwright.services.context import Context, check_unlocked
from rackwright.store import runbook as runbook_store
from rackwright.store.columns import now
from rackwright.store.node import Node

_STEPS = {"clean": "clean_steps", "service": "service_steps", "active": "deploy_steps", "rebuild": "deploy_steps"}
_RULE = "baremetal:node:set_provision_state"
_NEEDS_STEPS = ("clean", "service")
_IMAGE_PARTS = ("kernel", "ramdisk", "boot_iso")
_IMAGES = ("image_source", "boot_iso")
_PROTECTED = (Event.DELETE, Event.REBUILD)
_NOT_IN_MAINTENANCE = (Event.DEPLOY, Event.REBUILD, Event.CLEAN, Event.SERVICE, Event.RESCUE, Event.UNRESCUE)
_VALIDATED: Mapping[Event, tuple[Interface, ...]] = {
    Event.DEPLOY: (Interface.POWER, Interface.BOOT, Interface.DEPLOY),
    Event.REBUILD: (Interface.POWER, Interface.BOOT, Interface.DEPLOY),
    Event.INSPECT: (Interface.POWER, Interface.INSPECT),
    Event.CLEAN: (Interface.POWER,),
    Event.SERVICE: (Interface.POWER,),
    Event.RESCUE: (Interface.POWER, Interface.RESCUE),
    Event.UNRESCUE: (Interface.POWER, Interface.RESCUE),
}


@dataclass(frozen=True, slots=True)
class Wish:
    """A verb and its arguments, as the client sent them; ``given`` leaves out what was null."""

    target: str
    given: Mapping[str, Any]

    @property
    def steps(self) -> Sequence[Any]:
        """Return the steps that the client gave, raw."""
        given: Sequence[Any] = self.given.get(_STEPS.get(self.target, ""), ())
        return given


def change(ident: str, target: str, arguments: Mapping[str, Any], *, context: Context) -> None:
    """Do what a client asks of a node's provision state; the work itself goes on after the return.

    Raise NodeNotFound, Forbidden, NotAcceptableVersion, Invalid, NodeProtected, Conflict or Unavailable.
    """
    node = nodes.get(ident, context=context, lock=True)
    access.demand(_RULE, node, context=context)
    wish = Wish(target, {name: value for name, value in arguments.items() if value is not None})
    transition = _legal(node, wish, context)
    _check_arguments(wish, context.minor)
    wish = _with_runbook(wish, node, context)
    steps = _requests(wish.steps, context)
    _check_steps(wish, steps, node, context)
    _check_node(node, wish, transition, context)
    _start(node, wish, transition, steps, context=context)
    context.session.commit()


def _legal(node: Node, wish: Wish, context: Context) -> Transition:
    event_for(wish.target, context.minor)
    if node.maintenance and wish.target in ("active", "rebuild"):
        raise NodeInMaintenance(attempted=f"Verb {wish.target}", node=node.uuid)
    try:
        return transition_for(ProvisionState(node.provision_state), wish.target, context.minor)
    except InvalidState:
        check_unlocked(node)
        raise


def _check_arguments(wish: Wish, minor: int) -> None:
    verb = VERBS[wish.target]
    for name, value in wish.given.items():
        since = verb.arguments.get(name)
        if since is None:
            takers = ", ".join(each.target for each in VERBS.values() if name in each.arguments)
            raise Invalid(f"{name} is only possible with target {takers}, not with {wish.target}.")
        if minor < since:
            raise NotAcceptableVersion(what=f"{name} with target {wish.target}", since=since, minor=minor)
        if name == "configdrive":
            config_drive.check(value, minor)
    if wish.steps and "runbook" in wish.given:
        raise Invalid(f"{_STEPS[wish.target]} and runbook exclude each other; give one of them.")
    if wish.target in _NEEDS_STEPS and not wish.steps and "runbook" not in wish.given:
        raise MissingParameter(name=_STEPS[wish.target])
    if wish.target == "rescue":
        _check_password(str(wish.given.get("rescue_password", "")))


def _check_password(password: str) -> None:
    if not password.strip():
        raise MissingParameter(name="rescue_password")
    if not password.isprintable():
        raise Invalid("rescue_password must be printable: nobody could type it into a console else.")


def _with_runbook(wish: Wish, node: Node, context: Context) -> Wish:
    """Return the wish with what its runbook says, where it names one."""
    if "runbook" not in wish.given:
        return wish
    found = runbooks.usable(wish.given["runbook"], node, context=context)
    disables = found.disable_ramdisk or wish.given.get("disable_ramdisk", False)
    said = {_STEPS[wish.target]: runbook_store.ordered(found), "disable_ramdisk": disables}
    return Wish(wish.target, {**wish.given, **said})


def _requests(steps: Sequence[Any], context: Context) -> list[StepRequest]:
    """Return steps as the engine takes them; secrets in their arguments are sealed."""
    return composition.requested(context.sealer.seal({"steps": list(steps)})["steps"])


def _check_steps(wish: Wish, steps: Sequence[StepRequest], node: Node, context: Context) -> None:
    """Raise Forbidden for steps that the caller may not run; who may use a runbook may run what it says."""
    if wish.target in _NEEDS_STEPS and "runbook" not in wish.given:
        access.demand(f"{_RULE}:{_STEPS[wish.target]}", node, context=context)
    access.demand_steps((each.key for each in steps), node, context=context)
    node_access.check_children(node, steps, _RULE, context=context)


def _check_node(node: Node, wish: Wish, transition: Transition, context: Context) -> None:
    attempted = f"Verb {wish.target}"
    if node.protected and transition.event in _PROTECTED:
        raise NodeProtected(attempted=attempted, node=node.uuid)
    _check_maintenance(node, transition, attempted, context)
    if node.retired and transition.event is Event.PROVIDE:
        raise Invalid(f"Node {node.uuid} is retired and cannot be provided; clear its retired flag first.")
    validate.check(node, *_VALIDATED.get(transition.event, ()), attempted=attempted, context=context)
    if transition.event in (Event.DEPLOY, Event.REBUILD):
        _check_traits(node)
    if transition.event is Event.REBUILD and not any(node.instance_info.get(key) for key in _IMAGES):
        raise Invalid(f"Node {node.uuid} has no image to be rebuilt from: set {' or '.join(_IMAGES)} in instance_info.")


def _check_maintenance(node: Node, transition: Transition, attempted: str, context: Context) -> None:
    if not node.maintenance:
        return
    provide = transition.event is Event.PROVIDE and not context.settings.allow_provisioning_in_maintenance
    if provide or transition.event in _NOT_IN_MAINTENANCE:
        raise NodeInMaintenance(attempted=attempted, node=node.uuid)
    if transition.event is Event.ABORT and transition.source is ProvisionState.SERVICE_FAILED:
        raise Conflict(f"{attempted} is refused because node {node.uuid} is in maintenance; clear the flag first.")


def _check_traits(node: Node) -> None:
    wanted = node.instance_info.get("traits") or ()
    if missing := sorted(set(map(str, wanted)) - set(node.traits)):
        raise Invalid(f"Node {node.uuid} lacks the traits {', '.join(missing)} that instance_info demands.")


def _templates(node: Node, context: Context) -> list[list[StepRequest]]:
    """Return the steps of the deploy templates that the traits of the instance name."""
    traits = [str(trait) for trait in node.instance_info.get("traits") or ()]
    return [_requests(steps, context) for steps in deploy_templates.steps_for(traits, context=context)]


def _start(node: Node, wish: Wish, transition: Transition, steps: Sequence[StepRequest], *, context: Context) -> None:
    session, settings = context.session, context.settings
    phase = phase_of(transition.target)
    if transition.event is Event.ABORT:
        plan.abort(session=session, settings=settings, node=node, user=context.user, project=context.project)
    elif transition.event is Event.UNHOLD:
        plan.unhold(session=session, node=node)
    elif phase is None:
        check_unlocked(node)
        transitions.move(node, transition.event, at=now())
        session.add(node)
    else:
        if phase is Phase.DEPLOY:
            _lend(node, context)
        if transition.event is Event.REBUILD:
            _forget_image_parts(node)
        plan.start_phase(
            session=session,
            settings=settings,
            catalog=context.catalog,
            sealer=context.sealer,
            node=node,
            phase=phase,
            verb=wish.target,
            user_steps=steps,
            templates=_templates(node, context) if phase is Phase.DEPLOY else (),
            configdrive=wish.given.get("configdrive"),
            rescue_password=wish.given.get("rescue_password"),
            disable_ramdisk=wish.given.get("disable_ramdisk", False),
            user=context.user,
            project=context.project,
        )


def _forget_image_parts(node: Node) -> None:
    """Drop what an image service knows of an image and may have changed since; the deployment asks for it again."""
    if "/" not in str(node.instance_info.get("image_source", "/")):
        kept = {key: value for key, value in node.instance_info.items() if key not in _IMAGE_PARTS}
        node.instance_info = kept


def _lend(node: Node, context: Context) -> None:
    """Make the project of the instance, or of who asks, the lessee unless there is one; undeploying takes it back."""
    sources = {"instance": node.instance_info.get("project_id"), "request": context.project}
    project = sources.get(context.settings.automatic_lessee_source)
    if context.settings.automatic_lessee and not node.lessee and isinstance(project, str) and project:
        node.lessee = project
        node.driver_internal_info = {**node.driver_internal_info, "automatic_lessee": True}

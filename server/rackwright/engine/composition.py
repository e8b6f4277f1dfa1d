# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Compose the list of steps of a phase; no effects.

The list is made when a client asks, and once more when the agent has told its own steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from rackwright.catalog import Catalog
from rackwright.domain import steps as rules
from rackwright.domain.errors import Invalid, InvalidStep
from rackwright.domain.states import PowerTarget
from rackwright.domain.steps import Stage, Step, StepRequest, Steps
from rackwright.domain.verbs import Interface, Phase
from rackwright.engine import fast_track
from rackwright.settings import Settings
from rackwright.store.node import Node

AUTOMATED = "provide"
"""The verb of cleaning that nobody gave steps for."""

SET_POWER = "set_power_state"
"""The step of a power implementation that changes the power."""

BOOT_AGENT = "boot_ramdisk"
"""The prepare step of a boot implementation that brings the machine into the agent, where it is not there already."""

POWER_STEPS = {"power_on": PowerTarget.ON, "power_off": PowerTarget.OFF, "reboot": PowerTarget.REBOOTING}
"""Reserved steps that the power implementation of the node carries out."""

_ERASURES = {
    "deploy.erase_devices": "erase_devices_priority",
    "deploy.erase_devices_metadata": "erase_devices_metadata_priority",
    "raid.create_configuration": "create_configuration_priority",
    "raid.delete_configuration": "delete_configuration_priority",
}


class Request(BaseModel):
    """What a client asked beyond the verb; kept with the operation."""

    model_config = ConfigDict(frozen=True)

    user_steps: tuple[StepRequest, ...] = ()
    templates: tuple[tuple[StepRequest, ...], ...] = ()
    disable_ramdisk: bool = False
    aborted_by: str | None = None
    """Who asked for the end; None while nobody did, or nobody knows."""


def requested(steps: Iterable[Mapping[str, Any]]) -> list[StepRequest]:
    """Return steps that somebody wrote; raise Invalid, which says where one is wrong."""
    return [_requested(place, step) for place, step in enumerate(steps)]


def _requested(place: int, step: Mapping[str, Any]) -> StepRequest:
    try:
        return StepRequest.model_validate(step)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        text = _WORDS.get(first["type"], first["msg"])
        raise Invalid(f"Step [{place}] of the request is wrong at {where}: {text}.") from error


_WORDS = {"string_pattern_mismatch": "names of steps consist of letters, digits and _, and start with no digit"}
"""What to say of a kind of mistake, instead of the pattern that finds it."""


def interfaces(node: Node, catalog: Catalog) -> dict[Interface, str]:
    """Return the implementation of each interface of a node."""
    defaults = catalog.default_interfaces(node.driver)
    return {kind: getattr(node, f"{kind}_interface") or name for kind, name in defaults.items()}


def offered(node: Node, phase: Phase, catalog: Catalog) -> Steps:
    """Return the steps that the implementations of a node offer."""
    return catalog.offered(interfaces(node, catalog), phase)


def single(node: Node, phase: Phase, name: str, catalog: Catalog, *, kind: Interface | None = None) -> Step:
    """Return the one step ``name`` of a phase that is not a list; raise InvalidStep when the node has none.

    ``kind`` is the interface it must belong to; any by default.
    """
    for step in offered(node, phase, catalog):
        if step.name == name and kind in (None, step.interface):
            return step
    raise InvalidStep(step=name, reason=f"no interface of node {node.uuid} offers it")


def compose(
    node: Node, phase: Phase, *, request: Request, catalog: Catalog, settings: Settings, reported: object = None
) -> Steps:
    """Return the list of a phase; ``reported`` are the agent's steps, None while they are unknown.

    Raises InvalidStep or a child of it.
    """
    driver = offered(node, phase, catalog)
    later = reported is None and any(step.discovers for step in driver)
    if fast_track.is_on(node, settings):
        driver = tuple(step for step in driver if not step.unless_fast_track)
    everything = driver if reported is None else rules.join_agent_steps(driver, reported, phase=phase)
    _forbid(request, phase, settings)
    match phase:
        case Phase.DEPLOY:
            found = rules.merge_deploy(everything, request.templates, request.user_steps, skip_missing=later)
        case Phase.CLEAN | Phase.SERVICE if request.user_steps:
            found = rules.manual(
                everything,
                request.user_steps,
                phase=phase,
                disable_ramdisk=request.disable_ramdisk,
                skip_missing=later,
            )
        case _:
            allowed = [step for step in everything if step.key not in _disallowed(phase, settings)]
            found = rules.automated(allowed, overrides(phase, settings))
    return _carried_out(found, node, catalog)


def of_child(child: Node, step: Step, catalog: Catalog) -> Steps:
    """Return what a child node does where its parent takes ``step``; the child's ramdisk is not booted for it.

    Raises InvalidStep or a child of it.
    """
    wanted = StepRequest(interface=step.interface, step=step.name, args=step.args)
    found = rules.manual(offered(child, step.phase, catalog), (wanted,), phase=step.phase, disable_ramdisk=True)
    return _carried_out(found, child, catalog)


def overrides(phase: Phase, settings: Settings) -> Mapping[str, int]:
    """Return the priorities that the operator has set, by step."""
    if phase is Phase.VERIFY:
        return settings.verify_step_priority_override
    if phase is not Phase.CLEAN:
        return {}
    chosen = {key: getattr(settings, name) for key, name in _ERASURES.items()}
    return {key: value for key, value in chosen.items() if value is not None} | settings.clean_step_priority_override


def on_failure(node: Node, phase: Phase, before: Steps, catalog: Catalog) -> Steps:
    """Return the failure list; steps that need the ramdisk only where the failed list had booted it."""
    booted = any(step.needs_ramdisk for step in before)
    found = rules.failure_list(offered(node, phase, catalog))
    return tuple(step for step in found if booted or not step.needs_ramdisk)


def boots_agent(phase: Phase, steps: Steps) -> bool:
    """Tell whether the steps want the agent on the machine."""
    phases = (Phase.INSPECT, Phase.CLEAN, Phase.DEPLOY, Phase.RESCUE, Phase.SERVICE)
    return phase in phases and any(step.needs_ramdisk for step in steps)


def loaded(dumps: list[dict[str, Any]]) -> Steps:
    """Return the steps that an operation row holds."""
    return tuple(Step.model_validate(each) for each in dumps)


def dumped(steps: Steps) -> list[dict[str, Any]]:
    """Return steps in the form of an operation row."""
    return [step.model_dump(mode="json", exclude_defaults=True) for step in steps]


def _disallowed(phase: Phase, settings: Settings) -> tuple[str, ...]:
    names: tuple[str, ...] = getattr(settings, f"disallow_{phase}_steps", ())
    return names


def _forbid(request: Request, phase: Phase, settings: Settings) -> None:
    wanted = (*request.user_steps, *(each for template in request.templates for each in template))
    rules.forbid(wanted, _disallowed(phase, settings))


def _carried_out(steps: Steps, node: Node, catalog: Catalog) -> Steps:
    """Return what is really done: where a step costs the agent its machine, the agent is booted again."""
    boot = tuple(each for each in steps if each.name == BOOT_AGENT and each.stage is Stage.PREPARE)
    done: Steps = ()
    for place, step in enumerate(steps):
        awaited = any(each.stage is Stage.WORK and each.needs_ramdisk for each in steps[place + 1 :])
        if step.reboot_requested and boot:
            done += (step, _power_step("power_off", step, node, catalog), *boot)
        elif step.role or step.execute_on_child_nodes or step.name not in POWER_STEPS:
            done += (step,)
        elif step.name == "power_off" or not (boot and awaited):
            done += (_power_step(step.name, step, node, catalog),)
        else:
            off = (_power_step("power_off", step, node, catalog),) if step.name == "reboot" else ()
            done += (*off, *boot)
    return done


def _power_step(name: str, wanted: Step, node: Node, catalog: Catalog) -> Step:
    """Return the step of the node's power implementation that does what a reserved name says."""
    if node.disable_power_off and wanted.name == "power_off":
        raise InvalidStep(step=wanted.key, reason=f"disable_power_off is set on node {node.uuid}")
    power = single(node, Phase.POWER, SET_POWER, catalog)
    changes = {
        "name": name,
        "phase": wanted.phase,
        "tasks": power.tasks,
        "priority": wanted.priority,
        "abortable": True,
        "needs_ramdisk": False,
        "args": {"target": POWER_STEPS[name].value},
    }
    return power.model_copy(update=changes)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Steps as data, and the pure functions that compose the list of a phase out of them.

A phase has prepare, work and finish steps. Within a stage the higher priority goes first, then the interface order of
the phase, then the name. Only work steps are public; those with priority 0 run on request only. When a phase fails,
its failure steps and those with ``on_failure`` run. Source: ``contract/engine.md`` section 4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from rackwright.domain.errors import InvalidStep, StepConflict, UnknownStep
from rackwright.domain.passthru import Passthru
from rackwright.domain.verbs import PHASES, Interface, Phase

AGENT_ROLE = "rackwright.metal.agent"
"""The role that runs a step of the agent, with its task file ``execute``."""

RESERVED = frozenset({"power_on", "power_off", "reboot", "hold", "wait"})
"""Step names, of any interface, that the engine itself carries out."""

PAUSES = frozenset({"hold", "wait"})
"""Those of them that do nothing to the machine."""

CORE_DEPLOY = "deploy.deploy"
"""The step that makes a deployment one; requests may not move it."""

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$", max_length=255)]
Role = Annotated[str, StringConstraints(pattern=r"^(|[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*){0,2})$", max_length=255)]


class Stage(StrEnum):
    """When a step runs within its phase."""

    PREPARE = "prepare"
    WORK = "work"
    FINISH = "finish"
    FAILURE = "failure"


class ArgInfo(BaseModel):
    """What users are told about one argument of a step."""

    model_config = ConfigDict(frozen=True)

    description: str = ""
    required: bool = False


class StepFields(BaseModel):
    """What a role declares of a step, and a step keeps."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: Name
    """A verb and a noun, as in write_image."""
    tasks: Name = ""
    """Task file of the role; the step's name when not given."""
    phase: Phase
    interface: Interface
    stage: Stage = Stage.WORK
    """When it runs: work steps are public, the others surround them."""
    priority: int = Field(default=0, ge=0)
    """Higher runs first; a work step with 0 runs on request only."""
    abortable: bool = False
    """A client's abort may cut the step short."""
    needs_ramdisk: bool = True
    """The agent must run; a surrounding step with it is left out when no work step needs the agent."""
    waits: bool | None = None
    """Whether the step makes the node wait; null = it may. A run ends with it, unless it begins with it."""
    on_failure: bool = False
    """The step also runs in the failure list of its phase."""
    unless_fast_track: bool = False
    """With fast track the step is left out of its phase, though not of the failure list."""
    batched: bool = False
    """One task serves the whole wave; all following batched steps share a run."""
    discovers: bool = False
    """The agent's own steps are known after this one; a run ends with it."""
    passthru: Passthru | None = None
    """How clients call it by its name, where it is a method of a vendor interface."""

    @model_validator(mode="before")
    @classmethod
    def _default_the_task_file(cls, data: Any) -> Any:
        if isinstance(data, dict) and not data.get("tasks"):
            return {**data, "tasks": data.get("name")}
        return data


class Step(StepFields):
    """One unit of a phase, ready to be run."""

    role: Role = ""
    """Role with the tasks; empty = the engine itself carries the step out."""
    variables: dict[str, str] = {}
    """Public argument to role variable."""
    args: dict[str, JsonValue] = {}
    argsinfo: dict[str, ArgInfo] = {}
    reboot_requested: bool = False
    """The agent wants to be booted again after this step."""
    execute_on_child_nodes: bool = False
    limit_child_node_execution: tuple[str, ...] = ()
    execute_on_parent: bool = False  # only the engine asks for that

    @property
    def key(self) -> str:
        """Return the name by which users know the step: ``interface.name``."""
        return f"{self.interface}.{self.name}"


class StepRequest(BaseModel):
    """A step that a user, a runbook or a deploy template asks for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    interface: Interface
    step: Name
    args: dict[str, JsonValue] = {}
    priority: int | None = Field(default=None, ge=0)
    order: int | None = Field(default=None, ge=0)
    execute_on_child_nodes: bool = False
    limit_child_node_execution: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Return ``interface.step``."""
        return f"{self.interface}.{self.step}"


Steps = tuple[Step, ...]


def order(steps: Iterable[Step]) -> Steps:
    """Return the steps in the order in which a phase runs them."""
    return tuple(sorted(steps, key=_rank))


def _rank(step: Step) -> tuple[int, int, int, str]:
    interfaces = PHASES[step.phase].interfaces
    return tuple(Stage).index(step.stage), -step.priority, interfaces.index(step.interface), step.name


def automated(steps: Iterable[Step], overrides: Mapping[str, int] | None = None) -> Steps:
    """Return the list of a phase that runs without a user's steps.

    ``overrides`` gives work steps another priority by key; 0 disables a step. Raise StepConflict.
    """
    changed = [_prioritised(step, overrides or {}) for step in steps]
    return _framed(changed, order(step for step in _public(changed).values() if step.priority))


def merge_deploy(
    driver_steps: Iterable[Step],
    templates: Iterable[Iterable[StepRequest]],
    user_steps: Iterable[StepRequest],
    *,
    skip_missing: bool = False,
) -> Steps:
    """Return the list of a deployment.

    Steps of deploy templates override driver steps, steps of the user override both, priority 0 removes a step. With
    ``skip_missing`` (the agent has not reported yet) unknown steps are left out. Raise InvalidStep or a child of it.
    """
    offered = list(driver_steps)
    wanted = _unique(request for template in templates for request in template) | _unique(user_steps)
    work = dict(_public(offered))
    for key, request in wanted.items():
        _check_deploy_request(request)
        step = _resolve(request, offered, phase=Phase.DEPLOY, skip_missing=skip_missing)
        if step is not None:
            work[key] = step.model_copy(update={"priority": request.priority})
    return _framed(offered, order(step for step in work.values() if step.priority))


def _check_deploy_request(request: StepRequest) -> None:
    if request.priority is None:
        raise InvalidStep(step=request.key, reason="a deploy step needs a priority; 0 removes the step")
    if request.key == CORE_DEPLOY and request.priority:
        raise InvalidStep(step=request.key, reason="it is the core of every deployment and cannot be moved")


def _unique(requests: Iterable[StepRequest]) -> dict[str, StepRequest]:
    found: dict[str, StepRequest] = {}
    for request in requests:
        if request.key in found:
            raise InvalidStep(step=request.key, reason="it is asked for twice; keep one of the two")
        found[request.key] = request
    return found


def manual(
    driver_steps: Iterable[Step],
    user_steps: Iterable[StepRequest],
    *,
    phase: Phase,
    disable_ramdisk: bool = False,
    skip_missing: bool = False,
) -> Steps:
    """Return the list of a phase whose work the user gave, in the user's order.

    Where no step of the user needs the ramdisk, the prepare and finish steps that need it are left out too. With
    ``skip_missing`` (the agent has not reported yet) unknown steps are left out and count as needing the ramdisk.
    Raise InvalidStep or a child of it.
    """
    offered = list(driver_steps)
    tolerant = skip_missing and not disable_ramdisk
    found = [_resolve(request, offered, phase=phase, skip_missing=tolerant) for request in user_steps]
    work = tuple(step for step in found if step is not None)
    needing = [step.key for step in work if step.needs_ramdisk]
    if disable_ramdisk and needing:
        raise InvalidStep(step=needing[0], reason="it needs the ramdisk, which disable_ramdisk forbids")
    if not needing and None not in found:
        offered = [step for step in offered if not step.needs_ramdisk]
    return _framed(offered, work)


def forbid(requests: Iterable[StepRequest], disallowed: Iterable[str]) -> None:
    """Raise InvalidStep when one of the requests names a step that the operator has disallowed."""
    keys = set(disallowed)
    for request in requests:
        if request.key in keys:
            raise InvalidStep(step=request.key, reason="the operator of this service has disallowed it")


class _AgentStep(BaseModel):
    step: Name
    interface: Interface
    priority: int = Field(ge=0)
    abortable: bool | None = None
    reboot_requested: bool | None = None
    requires_ramdisk: bool = True
    argsinfo: dict[str, ArgInfo] | None = None


_AGENT_REPORT = TypeAdapter(dict[str, list[_AgentStep]])


def join_agent_steps(steps: Iterable[Step], reported: object, *, phase: Phase, role: str = AGENT_ROLE) -> Steps:
    """Return ``steps`` (what the driver offers) together with the steps that the agent reports.

    ``reported`` groups the agent's steps, by hardware manager or by interface. A step of the driver wins over one of
    the agent with the same key, and of two from the agent the one with the higher priority, then the first group name;
    but never for an erase step: there a second one raises StepConflict, so that nothing can replace an erasure unseen.
    Raise InvalidStep when the agent reports something that is no step.
    """
    joined = list(steps)
    owners = {step.key: step.role for step in _public(joined).values()}
    for group, item in _agent_report(reported):
        step, owner = _from_agent(item, phase, role), f"the agent's {group}"
        if step.key not in owners:
            owners[step.key] = owner
            joined.append(step)
        elif step.name.startswith("erase_"):
            raise StepConflict(step=step.key, first=owners[step.key], second=owner)
    return tuple(joined)


def _agent_report(reported: object) -> list[tuple[str, _AgentStep]]:
    try:
        groups = _AGENT_REPORT.validate_python(reported)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InvalidStep(step=where, reason=f"the agent describes it wrongly: {first['msg']}") from error
    pairs = [(group, item) for group, items in groups.items() for item in items]
    return sorted(pairs, key=lambda pair: (-pair[1].priority, pair[0]))


def _from_agent(item: _AgentStep, phase: Phase, role: str) -> Step:
    return Step(
        name=item.step,
        interface=item.interface,
        phase=phase,
        priority=item.priority,
        abortable=bool(item.abortable),
        needs_ramdisk=phase is Phase.CLEAN or item.requires_ramdisk,
        waits=True,
        batched=True,
        reboot_requested=bool(item.reboot_requested),
        role=role,
        tasks="execute",
        argsinfo=item.argsinfo or {},
    )


def leg(steps: Sequence[Step], position: int) -> Steps:
    """Return what one playbook run takes from ``position`` on.

    That is all following batched steps, or one that is not; the last one discovers, or waits and is not the first.
    """
    taken: list[Step] = []
    for step in steps[position:]:
        if taken and not step.batched:
            break
        taken.append(step)
        if step.discovers or not step.batched or (step.waits and len(taken) > 1):
            break
    return tuple(taken)


def leg_key(steps: Iterable[Step]) -> str:
    """Return a text that is equal for nodes whose legs run the same task files of the same roles."""
    return ",".join(f"{step.role}:{step.interface}.{step.name}" for step in steps)


def failure_list(steps: Iterable[Step]) -> Steps:
    """Return the steps to run when the phase fails, by priority: failure steps, and those with ``on_failure``."""
    chosen = [step for step in steps if step.on_failure or step.stage is Stage.FAILURE]
    return tuple(sorted(chosen, key=lambda step: _rank(step)[1:]))


def _prioritised(step: Step, overrides: Mapping[str, int]) -> Step:
    if step.stage is not Stage.WORK or step.key not in overrides:
        return step
    return step.model_copy(update={"priority": overrides[step.key]})


def _public(steps: Iterable[Step]) -> dict[str, Step]:
    """Return the work steps by key; raise StepConflict when two have the same."""
    found: dict[str, Step] = {}
    for step in steps:
        if step.stage is not Stage.WORK:
            continue
        if step.key in found:
            raise StepConflict(step=step.key, first=found[step.key].role, second=step.role)
        found[step.key] = step
    return found


def _framed(offered: Iterable[Step], work: Steps) -> Steps:
    around = order(step for step in offered if step.stage in (Stage.PREPARE, Stage.FINISH))
    first = tuple(step for step in around if step.stage is Stage.PREPARE)
    return first + work + around[len(first) :]


def _resolve(request: StepRequest, offered: Sequence[Step], *, phase: Phase, skip_missing: bool) -> Step | None:
    """Return the step that a request means, with its arguments; None = not known yet."""
    public = _public(offered)
    if request.step in RESERVED or request.execute_on_child_nodes or request.limit_child_node_execution:
        return _engine_step(request, phase)
    if request.key not in public:
        if any(step.key == request.key and step.stage is not Stage.WORK for step in offered):
            raise InvalidStep(step=request.key, reason="it surrounds the work of every such phase and runs anyway")
        if skip_missing:
            return None
        raise UnknownStep(step=request.key, offered=", ".join(sorted(public)) or "none")
    step = public[request.key]
    _check_args(request, step.argsinfo)
    return step.model_copy(update={"args": request.args})


def _engine_step(request: StepRequest, phase: Phase) -> Step:
    """Return a step without a role; what a child node is asked to do is checked against the child when it runs."""
    _check_engine_step(request)
    return Step(
        name=request.step,
        interface=request.interface,
        phase=phase,
        abortable=True,
        needs_ramdisk=request.step == "wait" and "seconds" not in request.args,  # then it waits for a heartbeat
        args=request.args,
        execute_on_child_nodes=request.execute_on_child_nodes,
        limit_child_node_execution=request.limit_child_node_execution,
    )


def _check_engine_step(request: StepRequest) -> None:
    if request.execute_on_child_nodes:
        if request.step in PAUSES:
            raise InvalidStep(step=request.key, reason="child nodes take no pauses; leave out execute_on_child_nodes")
        return
    if request.limit_child_node_execution:
        raise InvalidStep(step=request.key, reason="limit_child_node_execution needs execute_on_child_nodes")
    _check_args(request, {"seconds": ArgInfo()} if request.step == "wait" else {})
    seconds = request.args.get("seconds", 0)
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < float("inf"):
        raise InvalidStep(step=request.key, reason="its argument seconds is no number of seconds")


def _check_args(request: StepRequest, known: Mapping[str, ArgInfo]) -> None:
    if unknown := sorted(request.args.keys() - known.keys()):
        allowed = ", ".join(sorted(known)) or "none"
        raise InvalidStep(step=request.key, reason=f"unknown argument {', '.join(unknown)} (known: {allowed})")
    if missing := sorted(name for name, info in known.items() if info.required and name not in request.args):
        raise InvalidStep(step=request.key, reason=f"argument {', '.join(missing)} is missing")

# Copyright: Rackwright contributors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base of our action plugins: one of them serves a single host, or all nodes of a run of the daemon.

Outside a run the plugin does for its host what the module of the same name does. In a run (the variable
``rackwright_run`` is set) it asks the conductor for what it must know of each node, works on all of them at once, and
reports each node's progress as a line of its own, which the conductor stores as it arrives. It never fails the task for
one node, because the others' playbook would end with it (docs/explanation/architecture.md, "Action plugins").
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar
from uuid import uuid4

from ansible.errors import AnsibleActionFail
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.rackwright.metal.plugins.module_utils._errors import NotOfferedError, OperationError
from ansible_collections.rackwright.metal.plugins.plugin_utils._crew import serve
from ansible_collections.rackwright.metal.plugins.plugin_utils._door import DoorError, ask
from ansible_collections.rackwright.metal.plugins.plugin_utils._lifeline import die_with_parent, end_without_lease
from ansible_collections.rackwright.metal.plugins.plugin_utils._speech import Speech

Data = dict[str, Any]

MASK = "********"
_SECRET_NAME = re.compile("password|token|secret|credential", re.IGNORECASE)
_SHORTEST_SECRET = 4  # shorter ones are too likely to be a part of an ordinary word


@dataclass(frozen=True)
class Done:
    """The task is done; ``facts`` go to the operation, ``result`` and ``diff`` to a playbook of one host."""

    changed: bool = False
    facts: Data = field(default_factory=dict)
    result: Data = field(default_factory=dict)
    diff: Data = field(default_factory=dict)


@dataclass(frozen=True)
class Settled:
    """The whole step was done already: the node takes no part in its further tasks."""

    result: Data = field(default_factory=dict)
    facts: Data = field(default_factory=dict)


@dataclass(frozen=True)
class Waiting:
    """The node must wait for ``agent``, ``inspection`` or ``poll``; its step runs again from the start after that."""

    reason: str
    seconds: float | None = None
    facts: Data = field(default_factory=dict)


@dataclass(frozen=True)
class _Failed:
    cause: str
    action: str
    refused: bool = False
    kind: str = ""


Outcome = Done | Settled | Waiting


class Links:
    """What the tasks of a sequence open for one node: each thing once, and it stays open until the last has ended."""

    def __init__(self) -> None:
        """Begin with nothing open."""
        self._stack = ExitStack()
        self._opened: dict[Hashable, Any] = {}

    def __enter__(self) -> Links:
        return self

    def __exit__(self, *_error: object) -> None:
        self._stack.close()

    def open(self, key: Hashable, make: Callable[[], AbstractContextManager[Any]]) -> Any:
        """Return what is open under this key; enter what ``make`` returns where nothing is."""
        if key not in self._opened:
            self._opened[key] = self._stack.enter_context(make())
        return self._opened[key]


@dataclass(frozen=True)
class Node:
    """One node to serve.

    ``context`` is what the door tells of it (empty outside a run), ``params`` are the validated options.
    """

    uuid: str
    context: Data
    params: Data
    links: Links
    check_mode: bool = False

    @property
    def facts(self) -> Data:
        """Return what earlier steps of the operation found out."""
        return dict(self.context.get("facts") or {})


@dataclass
class _Memory:
    """What the tasks of a run must know of the ones before; kept as the fact ``rackwright_wave`` of the host."""

    gone: list[str] = field(default_factory=list)
    settled: dict[str, list[str]] = field(default_factory=dict)
    started: int = -1

    @classmethod
    def read(cls, task_vars: Mapping[str, Any]) -> _Memory:
        kept = (task_vars.get("ansible_facts") or {}).get("rackwright_wave") or {}
        settled = {str(step): list(uuids) for step, uuids in (kept.get("settled") or {}).items()}
        return cls(list(kept.get("gone") or ()), settled, int(kept.get("started", -1)))

    def facts(self) -> Data:
        return {"rackwright_wave": {"gone": self.gone, "settled": self.settled, "started": self.started}}


class WaveAction(ActionBase):
    """Serve one host or a wave; subclasses say how with ``operate``."""

    groups: ClassVar[tuple[str, ...]] = ()
    """Parts of the context whose values fill the options that the task did not give."""

    arguments: ClassVar[Data] = {}
    """Argument spec, the same one as the module's."""

    rules: ClassVar[Data] = {}
    """Further arguments of ArgumentSpecValidator, such as ``required_if``."""

    _requires_connection = False

    def operate(self, node: Node) -> Outcome:
        """Do the work for one node, on a thread of its own. Raise OperationError when it fails."""
        raise TypeError(f"{type(self).__name__} does not say how to serve {node.uuid}")

    def parts(self) -> Sequence[WaveAction]:
        """Return the plugins that serve a node, one after the other: this one."""
        return (self,)

    def options(self, context: Data) -> Data:
        """Return the options that a context gives."""
        given: Data = {}
        for group in self.groups:
            given |= {key: value for key, value in (context.get(group) or {}).items() if key in self.arguments}
        return given

    def run(self, tmp: str | None = None, task_vars: Data | None = None) -> Data:
        """Serve the task's host or, in a run of the daemon, every node that still takes part."""
        die_with_parent()
        super().run(tmp, task_vars)
        variables = task_vars or {}
        return self._serve_run(variables) if "rackwright_run" in variables else self._serve_host(variables)

    def _serve_host(self, task_vars: Data) -> Data:
        with Links() as links:
            return self.serve_alone(str(task_vars["inventory_hostname"]), links)

    def serve_alone(self, host: str, links: Links) -> Data:
        """Serve one host outside a run, and return the result of the task."""
        try:
            outcome = self.operate(self._node(host, {}, links))
        except OperationError as error:
            return {"failed": True, "msg": str(error)}
        return self._result(outcome)

    def _result(self, outcome: Outcome | _Failed) -> Data:
        match outcome:
            case Done(changed, _, result, diff):
                return {"changed": changed, **result, **({"diff": diff} if diff and self._task.diff else {})}
            case Settled(result):
                return {"changed": False, **result}
            case Waiting(reason):
                return {"changed": False, "msg": f"The node must wait for: {reason}."}
            case _Failed(cause, action):
                return {"failed": True, "msg": f"{cause} {action}"}

    def _serve_run(self, task_vars: Data) -> Data:
        step, memory = int(task_vars["step"]["index"]), _Memory.read(task_vars)
        mark, door = str(uuid4()), str(task_vars["rackwright_door"])
        Display().display(f"@mark {mark}")
        try:
            contexts = ask(door, str(task_vars["rackwright_run"]), step=step, mark=mark)
        except DoorError as error:
            raise AnsibleActionFail(str(error)) from error
        absent = {*memory.gone, *memory.settled.get(str(step), ())}
        live = {uuid: context for uuid, context in contexts.items() if uuid not in absent}
        batched = bool(task_vars.get("wave_batched"))
        if not batched:
            live = {uuid: context for uuid, context in live.items() if uuid == task_vars["inventory_hostname"]}
        with Speech() as speech:
            report = _Reporter(step, memory, speech)
            report.started(live)
            outcomes = list(self._outcomes(live, report, door))
        facts = {"ansible_facts": memory.facts()}
        if batched or not outcomes:
            return {"changed": any(isinstance(one, Done) and one.changed for one in outcomes), **facts}
        return {**self._result(outcomes[-1]), **facts}

    def _outcomes(self, live: dict[str, Data], report: _Reporter, door: str) -> Iterator[Outcome | _Failed]:
        parts = self.parts()
        for uuid, outcome in serve(lambda uuid: _attempts(parts, uuid, live[uuid], door), list(live)):
            report.outcome(uuid, outcome)
            if outcome is not None:
                yield outcome

    def attempt(self, uuid: str, context: Data, links: Links) -> Outcome | _Failed:
        """Serve one node of a run; whatever goes wrong is an outcome."""
        try:
            return self.operate(self._node(uuid, context, links))
        except OperationError as error:
            cause = _masked(f"could not {error.attempted}: {error.cause}", context)
            return _Failed(cause, error.action, refused=isinstance(error, NotOfferedError), kind=error.kind)
        except Exception as error:  # whatever goes wrong with one node must not touch the others
            return _unexpected(error, self._task.action, context)

    def _node(self, uuid: str, context: Data, links: Links) -> Node:
        given = {**self.options(context), **{key: value for key, value in self._task.args.items() if value is not None}}
        checked = ArgumentSpecValidator(self.arguments, **self.rules).validate(given)
        if checked.error_messages:
            raise OperationError(
                f"read the options of {self._task.action}",
                " ".join(checked.error_messages),
                "Correct the options of the task" + (" or the node's driver_info." if context else "."),
            )
        return Node(uuid, context, checked.validated_parameters, links, check_mode=bool(self._task.check_mode))


def _attempts(parts: Sequence[WaveAction], uuid: str, context: Data, door: str) -> Iterator[Outcome | _Failed]:
    """Serve a node with each part, until it leaves the step; a part knows the facts that those before it found out."""
    facts = dict(context.get("facts") or {})
    try:
        with Links() as links:
            for part in parts:
                end_without_lease(door)
                outcome = part.attempt(uuid, {**context, "facts": facts}, links)
                if part is parts[-1] or not isinstance(outcome, Done):
                    break
                yield outcome
                facts |= outcome.facts
    except Exception as error:
        outcome = _unexpected(error, "the end of the task", context)
    yield outcome


def _unexpected(error: Exception, where: str, context: Data) -> _Failed:
    Display().display(_masked(traceback.format_exc(), context))
    frames = traceback.extract_tb(error.__traceback__)
    place = next((frame for frame in reversed(frames) if "/ansible_collections/" in frame.filename), frames[-1])
    cause = f"{where} met an unexpected error, {type(error).__name__}: {error}"
    cause += f" ({Path(place.filename).name}, line {place.lineno})"
    return _Failed(_masked(cause, context), "Report it as a bug.")


class _Reporter:
    """Say what the conductor is to know, and remember who has left the run."""

    def __init__(self, step: int, memory: _Memory, speech: Speech) -> None:
        self._step = step
        self._memory = memory
        self._speech = speech

    def started(self, nodes: Mapping[str, Data]) -> None:
        """Report the start of the step, at its first task."""
        if self._memory.started != self._step:
            self._memory.started = self._step
            self._speech.say(*(self._report(uuid, "start") for uuid in nodes))

    def outcome(self, uuid: str, outcome: Outcome | _Failed | None) -> None:
        """Report how the task went for a node; None = it has fallen behind."""
        if isinstance(outcome, Outcome) and outcome.facts:
            self._speech.say(self._report(uuid, "facts", facts=outcome.facts))
        match outcome:
            case Settled():
                self._memory.settled.setdefault(str(self._step), []).append(uuid)
                self._speech.say(self._report(uuid, "settled"))
            case Waiting(reason, seconds):
                self._leave(uuid, "waiting", **{"for": reason, "seconds": seconds})
            case _Failed(cause, action, refused, kind):
                more: Data = ({"refused": True} if refused else {}) | ({"kind": kind} if kind else {})
                self._leave(uuid, "failed", cause=cause, action=action, **more)
            case None:
                self._leave(uuid, "behind")

    def _leave(self, uuid: str, event: str, **keys: Any) -> None:
        self._memory.gone.append(uuid)
        self._speech.say(self._report(uuid, event, **keys))

    def _report(self, uuid: str, event: str, **keys: Any) -> Data:
        return {"node": uuid, "step": self._step, "event": event, **keys}


def _masked(text: str, context: Data) -> str:
    for secret in sorted(_secrets(context), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def _secrets(value: Any, name: str = "") -> Iterator[str]:
    match value:
        case dict():
            for key, item in value.items():
                yield from _secrets(item, str(key))
        case list():
            for item in value:
                yield from _secrets(item, name)
        case str() if len(value) >= _SHORTEST_SECRET and _SECRET_NAME.search(name):
            yield value

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Updates of firmware: an action, a task that tells how far it is, and a version that has changed at the end."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from rackwright_lab.simulated import documents
from rackwright_lab.simulated.http import Answer, Data, Refused
from rackwright_lab.simulated.machine import Machine

_SECONDS = 5.0  # of an update
_KEPT = 1000
_TASKS = f"{documents.ROOT}/TaskService/Tasks"
_VANISHING = "firmware-task-vanishes-or-starts-as-new"
_FIGHTING = "power-poll-fights-firmware"


@dataclass
class Task:
    """An update that was asked for."""

    number: str
    machine: Machine
    seconds: float
    began: float = field(default_factory=time.monotonic)

    @property
    def age(self) -> float:
        """Return its age in shares of the time that it takes."""
        return (time.monotonic() - self.began) / self.seconds if self.seconds else 1.0


class Updates:
    """The updates of a service."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._tasks: dict[str, Task] = {}
        self._away: dict[str, float] = {}  # machines whose BMC is not there, and until when

    def is_away(self, machine: Machine) -> bool:
        """Return whether the BMC of a machine cannot be reached while it is updated."""
        return self._away.get(machine.name, 0.0) > time.monotonic()

    def start(self, machine: Machine, body: Data) -> Answer:
        """Begin an update; its new version is told by the last part of the image's name."""
        url = body.get("ImageURI")
        if not isinstance(url, str):
            raise Refused(Answer(400, {"error": {"code": "Base.1.8.ActionParameterMissing", "message": "ImageURI"}}))
        fighting = machine.faults.habit(_FIGHTING)
        seconds = machine.faults.seconds(_VANISHING) or machine.faults.seconds(_FIGHTING) or _SECONDS
        task = Task(str(next(self._numbers)), machine, seconds)
        self._tasks[task.number] = task
        for old in list(self._tasks)[:-_KEPT]:
            del self._tasks[old]
        machine.history.add("update begins", url=url)
        version = url.rpartition("/")[2].rpartition("-")[2].removesuffix(".bin")
        machine.around.start(self._fight(task, version) if fighting else self._apply(task, version))
        return Answer(202, self._show(task), {"Location": f"{_TASKS}/{task.number}"})

    def listed(self) -> Sequence[str]:
        """Return the paths of the tasks."""
        return [f"{_TASKS}/{number}" for number in self._tasks]

    def get(self, number: str) -> Data | None:
        """Return a task; None when there is none, or it does not show."""
        task = self._tasks.get(number)
        if task is None:
            return None
        if task.machine.faults.habit(_VANISHING) and not 1 <= task.age < 4:
            return None
        return self._show(task)

    def _show(self, task: Task) -> Data:
        state = "Completed" if task.age >= 1 else "Running"
        if task.machine.faults.habit(_VANISHING):
            state = "New" if task.age < 2 else "Running"
        about = {"@odata.id": f"{_TASKS}/{task.number}", "Id": task.number, "Name": "Update", "TaskState": state}
        return {**about, "TaskStatus": "OK", "PercentComplete": min(100, int(task.age * 100)), "Messages": []}

    async def _apply(self, task: Task, version: str) -> None:
        await asyncio.sleep(task.seconds)
        if task.machine.faults.habit(_VANISHING) != "b":  # its download fails
            self._change(task.machine, version)

    async def _fight(self, task: Task, version: str) -> None:
        """Let the BMC be away first, then the power."""
        self._away[task.machine.name] = time.monotonic() + task.seconds
        await asyncio.sleep(task.seconds)
        was_on = task.machine.power == "On"
        if was_on:
            task.machine.switch_off()
        await asyncio.sleep(task.seconds / 2)
        self._change(task.machine, version)
        if was_on and task.machine.power == "Off":
            task.machine.switch_on()

    def _change(self, machine: Machine, version: str) -> None:
        machine.firmware = version
        machine.changed()
        machine.history.add("updated", version=version)

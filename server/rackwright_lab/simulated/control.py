# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""How a test looks at a simulated rack, and sets its faults, while it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rackwright_lab.errors import LabError
from rackwright_lab.simulated.faults import Faults, Rule
from rackwright_lab.simulated.http import Answer, Data, Request
from rackwright_lab.simulated.machine import Machine


class Control:
    """The control service: GET of ``/machines``, ``/machines/NAME``, ``/load``; GET and PUT of ``/faults``."""

    def __init__(self, machines: Sequence[Machine], faults: Faults, load: Callable[[], Data]) -> None:
        self._machines = {machine.name: machine for machine in machines}
        self._faults, self._load = faults, load

    async def answer(self, request: Request) -> Answer:
        """Answer a request."""
        if request.method == "PUT" and request.path == "/faults":
            return self._set(request.body)
        found = self._show(request.path.strip("/").split("/")) if request.method == "GET" else None
        return Answer(404, {"error": "There is no such resource."}) if found is None else Answer(200, found)

    def _set(self, body: Data) -> Answer:
        try:
            rules = body.get("faults")
            if not isinstance(rules, list):
                raise LabError("Give an object with the list `faults`.")
            self._faults.replace([Rule.read(rule) for rule in rules])
        except LabError as error:
            return Answer(400, {"error": str(error)})
        return Answer(204)

    def _show(self, path: Sequence[str]) -> Data | None:
        match path:
            case ["faults"]:
                return {"faults": [vars(rule) for rule in self._faults.rules]}
            case ["load"]:
                return self._load()
            case ["machines"]:
                return {"machines": [_describe(machine) for machine in self._machines.values()]}
            case ["machines", name] if name in self._machines:
                machine = self._machines[name]
                return {**_describe(machine), "history": list(machine.history.last)}
        return None


def _describe(machine: Machine) -> Data:
    return {
        "name": machine.name,
        "power": machine.power,
        "boot": vars(machine.boot),
        "media": machine.media,
        "image": machine.image,
        "agent": machine.running is not None,
        "firmware": machine.firmware,
    }

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A client that takes machines from enroll to active and goes by what it sees, since any answer may get lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.chaos.site import Site
from tests.integration.server.simulated_house import Data

_NEXT = {
    "enroll": "manage",
    "available": "active",
    "inspect failed": "inspect",
    "clean failed": "manage",
    "deploy failed": "active",
}
"""The verb that follows on a state in which a node rests; failures are told, and what failed is asked for again."""


class Course:
    """The way of some machines."""

    def __init__(self, site: Site, machines: Sequence[Data]) -> None:
        self._site = site
        self._absent = list(machines)
        self._count = len(machines)
        self._told: set[tuple[str, str]] = set()
        self.failures: list[str] = []
        self.states: dict[str, int] = {}

    def step(self) -> bool:
        """Do what can be done now; tell whether all machines are active."""
        self._absent = [machine for machine in self._absent if not self._site.enroll(machine)]
        nodes = self._site.nodes()
        if nodes is None:
            return False
        absent = {machine["name"] for machine in self._absent}
        for uuid, node in nodes.items():
            self._note(node)
            if node["name"] not in absent and (verb := _verb(node)):
                self._site.verb(uuid, verb)
        found = [str(node["provision_state"]) for node in nodes.values()]
        self.states = {state: found.count(state) for state in sorted(set(found))}
        return self.states == {"active": self._count} and not any(map(_is_busy, nodes.values()))

    def _note(self, node: Mapping[str, object]) -> None:
        name, error = str(node["name"]), str(node["last_error"] or "")
        if error and (name, error) not in self._told:
            self._told.add((name, error))
            self.failures.append(f"{name} failed in {node['provision_state']}: {error}")


def _is_busy(node: Mapping[str, object]) -> bool:
    """Tell whether it is not the client's turn; where something failed, the target is what it had been."""
    on_its_way = node["target_provision_state"] and not str(node["provision_state"]).endswith(" failed")
    return bool(node["reservation"] or on_its_way)


def _verb(node: Mapping[str, object]) -> str | None:
    if _is_busy(node):
        return None
    if node["provision_state"] == "manageable":
        return "provide" if node["inspection_finished_at"] else "inspect"
    return _NEXT.get(str(node["provision_state"]))

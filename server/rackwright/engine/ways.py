# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What a run that only looks at the power is told of its nodes: less than a step gets, since it looks at so many.

It holds the way to each BMC, and what the look before told of it, so that most looks take one request and no login.
Each conductor remembers that for itself; what it forgets costs one longer look.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rackwright.domain.errors import RackwrightError
from rackwright.domain.steps import Step
from rackwright.domain.verbs import Interface, Phase
from rackwright.engine import context
from rackwright.engine.live import LiveRun
from rackwright.engine.world import World
from rackwright.store import node as nodes
from rackwright.store.node import Node
from rackwright.store.session import reading

Data = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Way:
    """What is remembered of the way to one machine."""

    bmc: int
    """Tells whether it is still the same BMC, account and system."""
    path: str | None = None
    """The path of the system at its BMC; None while it is not known."""
    closed: bool = False
    """The BMC lets nobody in without a login."""


class Ways:
    """The ways to the machines that this conductor looks at."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._known: dict[str, Way] = {}

    def contexts(self, run: LiveRun) -> dict[str, Data]:
        """Return what the door tells of each node of a run (architecture.md, "The door")."""
        with reading(self._world.database) as session:
            present = nodes.find(session=session, uuids=list(run.operations))
        return {node.uuid: self._context(node, run.steps[0]) for node in present}

    def learn(self, uuid: str, told: Mapping[str, Any] | None) -> None:
        """Take what a look told of the way: nothing new, or None when it led nowhere."""
        known = self._known.get(uuid)
        if known is None:
            return
        if told is None:
            self._known[uuid] = Way(known.bmc)
        elif told:
            self._known[uuid] = replace(known, path=told.get("path"), closed=told.get("closed") is True)

    def keep(self, uuids: Collection[str]) -> None:
        """Forget the ways to all other machines."""
        self._known = {uuid: self._known[uuid] for uuid in uuids if uuid in self._known}

    def _context(self, node: Node, step: Step) -> Data:
        info = self._world.sealer.unseal(node.driver_info)
        bmc = context.bmc(info, self._protocol(node))
        way = self._way(node.uuid, bmc)
        return {
            "node": {**node.model_dump(include={"uuid", "name", "driver", "power_state"}), "driver_info": info},
            "ports": [],
            "phase": Phase.POWER.value,
            "step": {"name": step.name, "interface": step.interface.value, "index": 0, "args": {}},
            "facts": {},
            "bmc": bmc,
            "fake": {"delay": self._world.settings.fake_delays.get(step.interface, "0")},
            "look": {"path": way.path, "closed": way.closed},
        }

    def _way(self, uuid: str, bmc: Data) -> Way:
        mark = hash(json.dumps(bmc, sort_keys=True, default=str))
        known = self._known.get(uuid)
        if known is None or known.bmc != mark:
            named = str(bmc.get("system_id") or "")
            known = self._known[uuid] = Way(mark, named if named.startswith("/") else None)
        return known

    def _protocol(self, node: Node) -> str | None:
        catalog = self._world.catalog
        try:
            name = node.power_interface or catalog.default_interfaces(node.driver)[Interface.POWER]
            return catalog.implementation(Interface.POWER, name).protocol
        except (KeyError, RackwrightError):
            return None

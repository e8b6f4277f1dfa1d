# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Which host carries out the runs of a node; nodes of different hosts share no run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rackwright.engine.waves import Ready
from rackwright.engine.world import World
from rackwright.settings import Settings
from rackwright.store import work
from rackwright.store.node import Node
from rackwright.store.session import reading

OTHERS = "*"
"""The name in ``execution_hosts`` for nodes of all other conductor groups."""


def host_of(node: Node, settings: Settings) -> str:
    """Return the execution host of a node; empty: the conductor's own host.

    A name that the node gives and ``execution_hosts`` does not know, be it empty, is returned as it is: its step will
    fail, and say why. It must not run somewhere else without a word.
    """
    if named := node.properties.get(settings.execution_host_property):
        return str(named)
    return next((name for name in (node.conductor_group, OTHERS) if name and name in settings.execution_hosts), "")


def placed(ready: Sequence[Ready], world: World) -> Sequence[Ready]:
    """Return the same operations, each with its execution host."""
    if not ready:
        return ready
    settings = world.settings
    having = None if settings.execution_hosts else settings.execution_host_property
    with reading(world.database) as session:
        found = work.whereabouts(having=having, session=session)
    hosts = {uuid: host_of(node, settings) for uuid, _, node in found}
    return [replace(one, host=hosts.get(one.operation, "")) for one in ready]

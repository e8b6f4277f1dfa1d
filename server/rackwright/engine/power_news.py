# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What Nova is told of power states: those of instances that a transaction has changed, as soon as it is stored.

Source: contract/engine.md section 3. Who changes a power state says so here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from rackwright.engine.world import World
from rackwright.nova import Nova
from rackwright.store import power
from rackwright.store.node import Node
from rackwright.store.session import reading

LATELY = timedelta(hours=1)
"""How old a change may be that is told again: longer than a conductor takes to start anew, or others to notice."""


class PowerNews:
    """The power states of instances that one transaction changes."""

    def __init__(self) -> None:
        self.states: dict[str, str] = {}
        """By UUID of the instance; states that are no news, or unknown, are left out."""

    @contextmanager
    def watching(self, node: Node) -> Iterator[None]:
        """Note the node's power state if it has another one afterwards."""
        before = node.power_state
        yield
        if node.power_state != before:
            self.note(node)

    def note(self, node: Node) -> None:
        """Note the node's power state, whatever it was."""
        if node.instance_uuid and node.power_state:
            self.states[node.instance_uuid] = node.power_state


@contextmanager
def telling(nova: Nova | None) -> Iterator[PowerNews]:
    """Give what takes the news of the transaction within; Nova is told after it, and of nothing if it fails."""
    news = PowerNews()
    yield news
    if nova is not None:
        nova.tell(news.states.items())


def tell_again(world: World) -> None:
    """Tell Nova of all instances whose nodes have changed lately: who was to tell it may have died before.

    Nova ignores what it knows.
    """
    if world.nova is not None:
        with reading(world.database) as session:
            recent = power.of_instances(world.clock() - LATELY, session=session)
        world.nova.tell(recent)

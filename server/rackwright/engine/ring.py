# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""Which conductor takes care of which node: consistent hashing within a conductor group and hardware type.

Source: contract/engine.md section 1 (hash ring). Two processes may see different rings for a while; that does no harm,
since an operation is claimed by one of them only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from sqlmodel import Session

from rackwright.settings import Settings
from rackwright.store import conductor as conductors
from rackwright.store.conductor import Alive
from rackwright.store.node import Node
from rackwright.store.session import locks_rows

if TYPE_CHECKING:
    from tooz.hashring import HashRing

_KNOWN = "rackwright.running"


class Ring:
    """How some conductors share the nodes."""

    def __init__(self, members: Iterable[Alive]) -> None:
        serving: dict[tuple[str, str], list[str]] = {}
        for member in members:
            for driver in member.drivers:
                serving.setdefault((member.conductor_group, driver), []).append(member.hostname)
        self._serving = {kind: tuple(sorted(hosts)) for kind, hosts in serving.items()}

    def serves(self, driver: str, group: str) -> bool:
        """Tell whether any of them takes nodes of this hardware type and group."""
        return (group, driver) in self._serving

    def host(self, uuid: str, driver: str, group: str) -> str | None:
        """Return the host name of the conductor that takes care of a node, None without one."""
        hosts = self._serving.get((group, driver), ())
        if len(hosts) < 2:
            return hosts[0] if hosts else None
        (host,) = _hash_ring(hosts).get_nodes(uuid.encode())
        return str(host)


@lru_cache(64)
def _hash_ring(hosts: tuple[str, ...]) -> HashRing:
    from tooz.hashring import HashRing  # a single conductor does without it

    return HashRing(hosts)


def alive(*, session: Session, settings: Settings) -> Sequence[Alive]:
    """Return the running conductors, by host name; a session looks once."""
    if _KNOWN not in session.info:
        session.info[_KNOWN] = conductors.alive(session=session, timeout=settings.heartbeat_timeout)
    running: Sequence[Alive] = session.info[_KNOWN]
    return running


def host_of(node: Node, *, session: Session, settings: Settings) -> str:
    """Return who is to take care of a node; ourselves with SQLite, and as long as nobody serves it."""
    if not locks_rows(session):
        return settings.conductor_host
    ring = Ring(alive(session=session, settings=settings))
    found = ring.host(node.uuid, node.driver, node.conductor_group)
    return found or settings.conductor_host

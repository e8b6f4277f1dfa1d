# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""What is wrong when all is over: what machines went through, and what was left behind."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from sqlmodel import Session, col, select

from rackwright.engine.recovery import KEPT_RUNS
from rackwright.store.node import Node
from rackwright.store.operation import Operation
from rackwright.store.session import open_engine, reading
from rackwright_lab.simulated.history import check
from tests.chaos.processes import below
from tests.chaos.site import Host, Site
from tests.integration.server.simulated_house import Rack

SESSION = 20
"""Seconds until a BMC forgets a session: that is how those end whose owner was killed."""

_SOON = 20.0
_EMPTY = ("http/boot", "http/images", "ansible/tmp")
"""Folders of a state directory in which nothing may be left."""


def while_it_runs(site: Site, rack: Rack) -> list[str]:
    """Return what is wrong with machines that are all active, a sentence each."""
    texts = _patiently(lambda: check(rack.folder), _SOON)
    texts += _patiently(lambda: _runs(site), _SOON)
    texts += _patiently(lambda: _files(site), _SOON)
    return texts + _patiently(lambda: _sessions(rack), SESSION + 10)


def _runs(site: Site) -> list[str]:
    return [f"a {kind} still runs" for kind in below(site.folder).values() if kind in ("run", "worker", "client")]


def _sessions(rack: Rack) -> list[str]:
    count = rack.sessions()
    return [f"{count} sessions are open"] if count else []


def after_its_end(site: Site) -> list[str]:
    """Return what a site that was stopped has left behind, a sentence each."""
    texts = _patiently(lambda: [f"{kind} {pid} still runs" for pid, kind in below(site.folder).items()], _SOON)
    engine = open_engine(site.database_url())
    try:
        with reading(engine) as session:
            return texts + _rows(session)
    finally:
        engine.dispose()


def _rows(session: Session) -> list[str]:
    operations = session.exec(select(Operation).where(col(Operation.finished_at).is_(None))).all()
    nodes = session.exec(select(Node).where(col(Node.reservation).is_not(None))).all()
    texts = [f"operation {each.uuid} is {each.status} in {each.phase}" for each in operations]
    return texts + [f"{node.name} is reserved by {node.reservation}" for node in nodes]


def _files(site: Site) -> list[str]:
    return [text for host in site.hosts for text in _files_of(host)]


def _files_of(host: Host) -> list[str]:
    texts = [f"{path} was left" for name in _EMPTY for path in _entries(host.state / name)]
    runs = len(_entries(host.state / "runs"))
    return texts + ([f"{runs} folders of runs were left on {host.name}"] if runs > 2 * KEPT_RUNS else [])


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def _patiently(look: Callable[[], list[str]], seconds: float) -> list[str]:
    """Return what is still wrong after some seconds; nothing as soon as nothing is."""
    end = time.monotonic() + seconds
    while (texts := look()) and time.monotonic() < end:
        time.sleep(0.5)
    return texts

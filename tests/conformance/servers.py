# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The server that clients are run against: our daemon, or a real Ironic for comparison; each run has a fresh one."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tests import peer_ironic
from tests.conformance.keystone import PASSWORD, SERVICE, SYSTEM_ADMIN, Keystone, keystone
from tests.conformance.rack import Rack, on_rack
from tests.integration.server.daemon_house import Daemon

Kind = Literal["rackwright", "ironic"]
Place = Literal["alone", "keystone", "light rack", "virtual rack"]
"""Where a server stands: open to everyone, behind an identity service, or by a machine of the rack, light or not."""

RACKS = ("light rack", "virtual rack")


@dataclass(frozen=True)
class Server:
    """A server that runs, and the folder for what a client leaves behind."""

    kind: Kind
    url: str
    folder: Path
    identity: str | None = None
    rack: Rack | None = None


@contextlib.contextmanager
def serving(kind: Kind, folder: Path, place: Place) -> Iterator[Server]:
    """Start a server with fake hardware, or on a rack; behind keystone, only those with a token are let in.

    Raises CannotServeError when this computer has not what the place needs.
    """
    with contextlib.ExitStack() as stack:
        state = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="conformance-")))
        if place in RACKS:
            rack = stack.enter_context(on_rack(state, folder, light=place == "light rack"))
            yield Server(kind, rack.daemon.url, folder, rack=rack)
            return
        identity = stack.enter_context(keystone()) if place == "keystone" else None
        url = stack.enter_context(STARTERS[kind](state, folder, identity))
        if identity:
            identity.offer("baremetal", url)
        yield Server(kind, url, folder, f"{identity.url}/v3" if identity else None)


@contextlib.contextmanager
def _rackwright(state: Path, folder: Path, identity: Keystone | None) -> Iterator[str]:
    settings: dict[str, object] = {"default_resource_class": "baremetal"}
    if identity:
        settings |= {
            "auth_strategy": "keystone",
            "keystone_auth_url": f"{identity.url}/v3",
            "keystone_username": SERVICE.name,
            "keystone_project_name": SERVICE.project,
            "keystone_password": PASSWORD,
        }
    (state / "state").mkdir()
    (state / "daemon.log").symlink_to(folder / "server.log")
    daemon = Daemon(state, **settings)
    try:
        yield f"http://127.0.0.1:{daemon.port}"
    finally:
        daemon.stop()


@contextlib.contextmanager
def _ironic(state: Path, folder: Path, identity: Keystone | None) -> Iterator[str]:
    (state / "ironic.log").symlink_to(folder / "server.log")
    settings = {}
    if identity:
        settings["DEFAULT"] = {"auth_strategy": "keystone"}
        settings["keystone_authtoken"] = {
            "auth_type": "password",
            "auth_url": f"{identity.url}/v3",
            "username": SERVICE.name,
            "password": PASSWORD,
            "project_name": str(SERVICE.project),
            "user_domain_name": "Default",
            "project_domain_name": "Default",
        }
    try:
        yield peer_ironic.start(state, settings=settings, token=identity.issue(SYSTEM_ADMIN) if identity else "")
    finally:
        peer_ironic.stop(state)


STARTERS = {"rackwright": _rackwright, "ironic": _ironic}

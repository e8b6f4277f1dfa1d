# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The whole daemon in one process: the API on the drivers of the collection, and a conductor that plays every step."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient
from httpx2 import Response

from ansible_collections.rackwright.metal.plugins.module_utils._errors import NotOfferedError
from ansible_collections.rackwright.metal.plugins.module_utils._fake import act
from rackwright.app import create_app
from rackwright.domain.outcomes import Done, Failed, Outcome
from rackwright.engine.conductor import Conductor
from rackwright.engine.world import World
from rackwright.runner.fake import FakeRunner
from rackwright.settings import Settings
from rackwright.store import node as nodes
from rackwright.store import operation as operations
from rackwright.store.columns import now
from rackwright.store.node import Node
from rackwright.store.session import reading, writing
from tests.unit.server.fresh_database import lay_in

HOST = "conductor-1.example"
PUBLIC = "http://ironic.example:6385"
VERSION = "X-OpenStack-Ironic-API-Version"


class Site:
    """A daemon; ``close`` ends it."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        given: dict[str, Any] = {"state_dir": folder, "conductor_host": HOST, "_env_file": None}
        given |= {"poll_interval": 0.01, "run_slots": 4}
        given |= {"public_endpoint": PUBLIC, "enabled_hardware_types": ("fake-hardware", "redfish")}
        given |= {"node_locked_retry_attempts": 1}
        self.settings = Settings(**(given | settings))
        (folder / "http" / "boot").mkdir(parents=True)
        lay_in(folder)
        self.app = create_app(self.settings)
        self.client = TestClient(self.app, raise_server_exceptions=False, headers={VERSION: "1.115"})
        parts = self.app.state.parts
        self.database = parts.engine
        world = World(parts.engine, self.settings, parts.catalog, parts.sealer, now)
        self.conductor, self._stop = Conductor(world, FakeRunner(self._play)), threading.Event()
        self.conductor.start()
        self._thread = threading.Thread(target=self.conductor.serve, args=(self._stop,))
        self._thread.start()

    def close(self) -> None:
        """End the conductor."""
        self._stop.set()
        self._thread.join()
        self.conductor.finish()
        self.database.dispose()

    def _play(self, uuid: str, step: Mapping[str, Any]) -> Outcome | None:
        """Take a step as fake hardware takes it."""
        with reading(self.database) as session:
            node = nodes.get(uuid, session=session)
            operation = operations.unfinished_of(node.id or 0, session=session)
        whole = operation.steps[step["index"]] if operation else {}
        params = {"name": step["name"], "interface": step["interface"], "args": whole.get("args") or {}}
        params |= {"driver_info": node.driver_info, "power_state": node.power_state, "delay": "0"}
        try:
            return Done(act(params))
        except Exception as error:
            return Failed(step["name"], str(error), refused=isinstance(error, NotOfferedError))

    def call(self, method: str, path: str, body: Any = None, *, version: str | None = "1.115", **more: Any) -> Response:
        """Send a request; ``path`` is a whole one behind a second slash, else it goes without /v1."""
        whole = path[1:] if path.startswith("//") else f"/v1{path}"
        content = {} if body is None else {"json": body}
        headers = {VERSION: version} if version else {}
        self.client.headers.pop(VERSION, None)
        return self.client.request(method, whole, headers=headers, **content, **more)

    def change(self, ident: str, **columns: Any) -> None:
        """Change columns of a node behind the API."""
        with writing(self.database) as session:
            node = nodes.get(ident, session=session)
            for name, value in columns.items():
                setattr(node, name, value)
            session.add(node)
            session.commit()

    def look(self, ident: str) -> Node:
        """Return the row of a node."""
        with reading(self.database) as session:
            return nodes.get(ident, session=session)

    def settle(self, ident: str, seconds: float = 20) -> None:
        """Wait until nothing goes on with a node."""
        end = time.monotonic() + seconds
        while (node := self.look(ident)).reservation or _goes_on(node):
            assert time.monotonic() < end, f"node {ident} does not come to rest in {node.provision_state}"
            time.sleep(0.01)

    def allocated(self, ident: str, seconds: float = 20) -> None:
        """Wait until an allocation is decided."""
        end = time.monotonic() + seconds
        while self.call("GET", f"/allocations/{ident}").json()["state"] == "allocating":
            assert time.monotonic() < end, f"allocation {ident} is never decided"
            time.sleep(0.01)


def _goes_on(node: Node) -> bool:
    """Return whether a node is on its way; one that failed keeps its target and stays where it is."""
    return bool(node.target_power_state or (node.target_provision_state and "failed" not in node.provision_state))

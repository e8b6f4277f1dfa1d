# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""An engine with the steps of the real collection, nodes of fake hardware, and verbs as the API takes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import text

from rackwright.catalog import load
from rackwright.domain.caller import Caller
from rackwright.domain.outcomes import Outcome, WaitFor, Waiting
from rackwright.services import provision
from rackwright.services.context import Context
from rackwright.store import node as nodes
from rackwright.store.session import reading, writing
from tests.unit.server.engine.engine_house import EngineHouse

WRITTEN_DOWN = """
CREATE TRIGGER every_state AFTER UPDATE OF provision_state, target_provision_state ON node
BEGIN INSERT INTO seen VALUES (new.uuid, new.provision_state, new.target_provision_state); END
"""
IMAGE = {"image_source": "http://192.0.2.1/image"}


class VerbsHouse(EngineHouse):
    """An engine house that also keeps every pair of state and target that a node has ever had."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        catalog = load(enabled=["fake-hardware", "redfish"])
        super().__init__(folder, catalog=catalog, max_concurrent_clean=1000, **settings)
        with self.world.database.begin() as connection:
            connection.execute(text("CREATE TABLE seen (uuid TEXT, state TEXT, target TEXT)"))
            connection.execute(text(WRITTEN_DOWN))

    def send(self, uuid: str, target: str, *, minor: int = 115, **arguments: Any) -> None:
        """Send a verb."""
        with writing(self.world.database) as session:
            context = Context(
                session=session,
                engine=self.world.database,
                settings=self.settings,
                catalog=self.world.catalog,
                sealer=self.world.sealer,
                minor=minor,
                caller=Caller(user_id="alice"),
            )
            provision.change(uuid, target, arguments, context=context)

    def go(self, uuid: str, target: str, **arguments: Any) -> str:
        """Send a verb and return the state in which the node comes to rest."""
        self.send(uuid, target, **arguments)
        self.settle()
        return self.look(uuid).provision_state

    def until_agent(self, uuid: str, step: str) -> None:
        """Let a step of a node wait until the agent has sent a heartbeat, each time that it is begun."""

        def play(_: str) -> Outcome | None:
            with reading(self.world.database) as session:
                url = nodes.get(uuid, session=session).driver_internal_info.get("agent_url")
            return None if url else Waiting(WaitFor.AGENT)

        self.script[f"{uuid} {step}"] = play

    def seen(self, uuid: str) -> list[tuple[str, str | None]]:
        """Return every pair of state and target that a node had since it was made."""
        with self.world.database.connect() as connection:
            found = connection.execute(text("SELECT state, target FROM seen WHERE uuid = :uuid"), {"uuid": uuid})
            return [(row[0], row[1]) for row in found]

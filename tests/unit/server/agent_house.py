# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A database with nodes and ports, and the services of agents on it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from sqlmodel import Session, col, select

from rackwright.catalog import Catalog
from rackwright.services import agents
from rackwright.services.agents import Heartbeat
from rackwright.services.context import Context
from rackwright.settings import Settings
from rackwright.store import node as nodes
from rackwright.store.node import Node
from rackwright.store.operation import Operation
from rackwright.store.port import Port
from rackwright.store.sealing import Sealer, read_key
from rackwright.store.session import open_engine, reading, writing
from tests.unit.server.fresh_database import lay_in

NODE = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"
MAC, OTHER_MAC, SHARED = "00:1b:21:00:00:01", "00:1b:21:00:00:02", "0a:ca:fe:f0:0d:04"
URL = "https://192.0.2.20:9999"
AT = datetime(2026, 3, 1, 12, 0, 0, 5, tzinfo=timezone(timedelta(hours=1)))


def certificate(name: str) -> str:
    return (Path(__file__).parents[1] / "fixtures" / "certificates" / f"{name}.pem").read_text()


class House:
    """A database with nodes, and the services of agents on it."""

    def __init__(self, folder: Path) -> None:
        lay_in(folder)
        self.settings = Settings(state_dir=folder)
        self.database = open_engine(self.settings.database)
        self.sealer = Sealer(read_key(folder / "secret.key"))

    def set(self, **settings: Any) -> None:
        self.settings = self.settings.model_copy(update=settings)

    def context(self, session: Session, minor: int = 68) -> Context:
        catalog = Catalog((), {}, {})
        return Context(
            session=session,
            engine=self.database,
            settings=self.settings,
            catalog=catalog,
            sealer=self.sealer,
            minor=minor,
        )

    def add(self, uuid: str = NODE, *macs: str, state: str = "wait call-back", **fields: Any) -> None:
        with writing(self.database) as session:
            node = Node(uuid=uuid, driver="redfish", provision_state=state, **fields)
            session.add(node)
            session.flush()
            assert node.id is not None
            session.add_all(Port(node_id=node.id, address=mac) for mac in macs)
            session.commit()

    def change(self, uuid: str = NODE, **fields: Any) -> None:
        with writing(self.database) as session:
            node = self._node(uuid, session)
            for name, value in fields.items():
                setattr(node, name, value)
            session.add(node)
            session.commit()

    def wait(self, waits_for: str | None = "agent", uuid: str = NODE, status: str = "waiting", **more: Any) -> None:
        with writing(self.database) as session:
            node = self._node(uuid, session)
            assert node.id is not None
            deadline = datetime.now(UTC) + timedelta(hours=1)
            given = {"phase": "deploy", "status": status, "waits_for": waits_for, "deadline_at": deadline, **more}
            session.add(Operation(node_id=node.id, **given))
            session.commit()

    @staticmethod
    def _node(uuid: str, session: Any) -> Node:
        return nodes.get(uuid, session=session)

    def node(self, uuid: str = NODE) -> Node:
        with reading(self.database) as session:
            return self._node(uuid, session)

    def operation(self, uuid: str = NODE) -> Operation:
        with reading(self.database) as session:
            node = self._node(uuid, session)
            return session.exec(select(Operation).where(col(Operation.node_id) == node.id)).one()

    def lookup(self, *addresses: str, uuid: str | None = None, minor: int = 62) -> agents.Found:
        with reading(self.database) as session:
            return agents.lookup(addresses, uuid, context=self.context(session, minor))

    def token(self, *addresses: str) -> str:
        token = self.lookup(*(addresses or (MAC,))).config["agent_token"]
        assert isinstance(token, str)
        return token

    def beat(self, token: str | None, uuid: str = NODE, **keys: Any) -> None:
        body = {"callback_url": URL, "agent_version": "13.0.0", "agent_token": token, "at": AT} | keys
        with writing(self.database) as session:
            agents.heartbeat(uuid, Heartbeat(**body), context=self.context(session))

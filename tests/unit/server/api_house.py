# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The API on a real database, with an offer of drivers that tests can rely on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx2 import Response

from rackwright.api.deps import Parts
from rackwright.app import create_app
from rackwright.catalog import Catalog, HardwareType, Implementation
from rackwright.domain.steps import Step
from rackwright.domain.steps_file import Property
from rackwright.domain.verbs import Interface, Phase
from rackwright.engine import plan
from rackwright.settings import Settings
from rackwright.store import conductor as conductors
from rackwright.store import node as nodes
from rackwright.store.columns import now
from rackwright.store.node import Node
from rackwright.store.session import writing
from tests.unit.server.fresh_database import lay_in

HOST = "conductor-1.example"
PUBLIC = "http://ironic.example:6385"
LATEST = "1.115"
NODE = "11111111-1111-4111-8111-111111111111"
MAC = "52:54:00:aa:bb:01"

_NONE = {
    Interface.BIOS: "no-bios",
    Interface.CONSOLE: "no-console",
    Interface.RAID: "no-raid",
    Interface.RESCUE: "no-rescue",
    Interface.VENDOR: "no-vendor",
}
_REDFISH = {
    "redfish_address": Property(description="URL of the BMC.", required=True),
    "redfish_password": Property(description="Password of the BMC's user.", secret=True),
}
_RAMDISK = {key: Property(description="URL.") for key in ("deploy_kernel", "deploy_ramdisk")}
_BOOT_DEVICE = ("get_boot_device", "set_boot_device", "get_supported_boot_devices")


def _step(phase: Phase, interface: Interface, name: str, **more: Any) -> Step:
    return Step(name=name, phase=phase, interface=interface, role="rackwright.metal.fake", **more)


_STEPS = (
    _step(Phase.POWER, Interface.POWER, "set_power_state"),
    _step(Phase.VERIFY, Interface.POWER, "read_power_state", priority=100),
    _step(Phase.DEPLOY, Interface.DEPLOY, "deploy", priority=100),
    _step(Phase.CLEAN, Interface.BIOS, "factory_reset"),
    *(_step(Phase.MANAGEMENT, Interface.MANAGEMENT, name) for name in _BOOT_DEVICE),
)


def _implementation(kind: Interface, name: str, properties: dict[str, Property] | None = None) -> Implementation:
    steps = tuple(step for step in _STEPS if step.interface is kind)
    return Implementation(kind, name, steps, properties or {}, supported=not name.startswith("no-"))


def offer() -> Catalog:
    """Return a catalog with fake-hardware and redfish."""
    fake = {kind: ("fake", _NONE[kind]) if kind in _NONE else ("fake",) for kind in Interface}
    fake |= {Interface.NETWORK: ("noop", "flat"), Interface.STORAGE: ("noop", "fake")}
    redfish = {kind: (name,) for kind, name in _NONE.items()} | {
        Interface.BOOT: ("redfish-virtual-media",),
        Interface.DEPLOY: ("direct",),
        Interface.INSPECT: ("agent",),
        Interface.MANAGEMENT: ("redfish", "noop"),
        Interface.NETWORK: ("noop", "flat"),
        Interface.POWER: ("redfish",),
        Interface.STORAGE: ("noop",),
    }
    known = {(kind, name) for names in (fake, redfish) for kind, each in names.items() for name in each}
    properties = {"redfish": _REDFISH, "redfish-virtual-media": _RAMDISK}
    return Catalog(
        collections=(),
        hardware_types={
            "fake-hardware": HardwareType("fake-hardware", fake),
            "redfish": HardwareType("redfish", redfish),
        },
        implementations={(kind, name): _implementation(kind, name, properties.get(name)) for kind, name in known},
    )


class House:
    """An application with its database, and a client that speaks to it."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        given: dict[str, Any] = {"state_dir": folder, "public_endpoint": PUBLIC, "conductor_host": HOST}
        given |= {"node_locked_retry_attempts": 1, "_env_file": None}
        self.settings = Settings(**(given | settings))
        lay_in(self.settings.state_dir)
        self.app: FastAPI = create_app(self.settings, offer())
        self.parts: Parts = self.app.state.parts
        self.client = TestClient(self.app, base_url="http://testserver")
        self.conductor("fake-hardware", "redfish")

    def conductor(self, *drivers: str, host: str = HOST, group: str = "") -> None:
        """Let a conductor run."""
        with writing(self.parts.engine) as session:
            conductors.register(host, session=session, group=group, drivers=drivers)
            session.commit()

    def call(self, method: str, path: str, body: Any = None, *, version: str | None = LATEST, **more: Any) -> Response:
        """Send a request; ``path`` goes without /v1 in front, or is whole behind a second slash."""
        headers = more.pop("headers", {}) | ({} if version is None else {"X-OpenStack-Ironic-API-Version": version})
        if body is not None:
            more["json"] = body
        whole = path[1:] if path.startswith("//") else f"/v1{path}"
        return self.client.request(method, whole, headers=headers, **more)

    def node(self, **fields: Any) -> str:
        """Create a node through the API, then set further columns; return its UUID."""
        columns = {name: fields.pop(name) for name in list(fields) if name in _COLUMNS}
        answer = self.call("POST", "/nodes", {"driver": "fake-hardware", **fields})
        assert answer.status_code == 201, answer.text
        uuid = str(answer.json()["uuid"])
        if columns:
            self.set(uuid, **columns)
        return uuid

    def port(self, node: str, address: str = MAC, **fields: Any) -> str:
        """Create a port; return its UUID."""
        answer = self.call("POST", "/ports", {"node_uuid": node, "address": address, **fields})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["uuid"])

    def set(self, ident: str, **columns: Any) -> None:
        """Change columns of a node behind the API."""
        with writing(self.parts.engine) as session:
            node = nodes.get(ident, session=session)
            for name, value in columns.items():
                setattr(node, name, value)
            if "provision_state" in columns:
                node.provision_updated_at = now()
            session.add(node)
            session.commit()

    def settle(self, ident: str, state: str) -> None:
        """End what goes on with a node, as a conductor does at the end of a phase."""
        with writing(self.parts.engine) as session:
            node = nodes.get(ident, session=session)
            plan.cancel_operations(session=session, node=node)
            node.provision_state, node.target_provision_state = state, None
            node.reservation = node.target_power_state = None
            session.add(node)
            session.commit()

    def clear(self) -> None:
        """Remove all nodes and what belongs to them."""
        with writing(self.parts.engine) as session:
            for node in nodes.find(session=session):
                session.delete(node)
            session.commit()

    def stored(self, ident: str) -> Node:
        """Return the row of a node."""
        with writing(self.parts.engine) as session:
            return nodes.get(ident, session=session)


_COLUMNS = {
    *("provision_state", "target_provision_state", "power_state", "target_power_state", "reservation", "last_error"),
    *("fault", "maintenance_reason", "protected", "traits", "driver_internal_info"),
}


def fault(answer: Response) -> str:
    """Return the text of a fault, whichever form it has."""
    message = json.loads(answer.json()["error_message"])
    return str(message.get("faultstring") or message.get("description") or message.get("title"))

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A daemon for a light rack, and what a client does with it."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx

from rackwright.domain.states import ProvisionState
from tests.integration.server.daemon_house import VERSION, Daemon, until
from tests.integration.server.lab.light_rack import LightRack, Machine

HOSTNAME = "host-of-the-test"
QUICK = " ".join(
    (
        *("ipa-image-download-connection-retries=1", "ipa-image-download-connection-retry-interval=1"),
        *("ipa-disk-wait-attempts=1", "ipa-disk-wait-delay=1"),
    )
)
"""Kernel parameters with which an agent neither fetches an image nor looks for a disk for long."""

DRIVE = {"meta_data": {"hostname": HOSTNAME}}


class LabDaemon(Daemon):
    """Listens where the rack's machines reach it."""

    def __init__(self, folder: Path, rack: LightRack, allowed: Path, **settings: object) -> None:
        self.rack, self.allowed = rack, allowed
        given = {
            "host_ip": rack.host,
            "trust_network": True,
            "enabled_hardware_types": json.dumps(["redfish", "fake-hardware"]),
            "file_url_allowed_paths": json.dumps([str(allowed)]),
            "erase_devices_priority": 0,
            "erase_devices_metadata_priority": 10,
            "check_provision_state_interval": 1,
            "kernel_append_params": QUICK,
        }
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__(folder, **{**given, **settings})

    @property
    def url(self) -> str:
        """Return the URL of the API."""
        return f"http://{self.rack.host}:{self.port}"

    def answers(self) -> bool:
        """Tell whether the API answers, at the rack's network."""
        if str(self.client.base_url).rstrip("/") != self.url:
            self.client = httpx.Client(base_url=self.url, headers=VERSION, timeout=60)
        return super().answers()

    def start(self) -> None:
        """Start it and wait until nodes can be created; leave nothing behind when that fails."""
        try:
            super().start()
            until(lambda: self.done("GET", "/v1/conductors")["conductors"], 60, f"a conductor (see {self.log})")
        except BaseException:
            self.kill_all()
            raise

    def kill_all(self) -> None:
        """Kill all of its processes at once: supervisor, API, conductor, what Ansible has started."""
        for pid in self.left():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait()
        until(lambda: not self.left(), 10, "the death of all processes")

    def end(self) -> None:
        """Leave nothing running."""
        try:
            if self.process.poll() is None:
                self.stop()
        finally:
            self.kill_all()

    def driver_info(self, machine: Machine, **changes: Any) -> dict[str, Any]:
        """Return how a machine of the rack is reached and booted."""
        facts = self.rack.facts
        parts = {"deploy_kernel": "kernel", "deploy_ramdisk": "ramdisk", "bootloader": "esp"}
        info = {
            "redfish_address": facts["redfish"],
            "redfish_system_id": machine.system,
            "redfish_username": facts["username"],
            "redfish_password": facts["password"],
            **{key: f"file://{self.allowed / name}" for key, name in parts.items()},
        }
        return {**info, **changes}

    def enroll(
        self, machine: Machine, *, info: Mapping[str, Any] | None = None, address: str | None = None, **fields: Any
    ) -> str:
        """Create the node of a machine, and its port, with the machine's address or another; return its UUID."""
        body = {
            "driver": "redfish",
            "name": machine.name,
            "driver_info": self.driver_info(machine, **(info or {})),
            "properties": {"capabilities": "boot_mode:uefi"},
            **fields,
        }
        uuid = str(self.done("POST", "/v1/nodes", body)["uuid"])
        self.done("POST", "/v1/ports", {"node_uuid": uuid, "address": address or machine.mac})
        return uuid

    def node(self, uuid: str) -> dict[str, Any]:
        """Return a node."""
        return dict(self.done("GET", f"/v1/nodes/{uuid}"))

    def change(self, uuid: str, **fields: Any) -> None:
        """Replace fields of a node."""
        patch = [{"op": "add", "path": f"/{name}", "value": value} for name, value in fields.items()]
        self.done("PATCH", f"/v1/nodes/{uuid}", patch)

    def ask(self, uuid: str, target: str, **more: Any) -> None:
        """Ask for a provision target."""
        self.done("PUT", f"/v1/nodes/{uuid}/states/provision", {"target": target, **more})

    def rest(self, uuid: str, seconds: float = 120) -> dict[str, Any]:
        """Wait until no operation goes on, and return the node."""
        end = time.monotonic() + seconds
        while True:
            node = self.node(uuid)
            traits = ProvisionState(node["provision_state"]).traits
            if (traits.stable or traits.failure_state) and not node["reservation"]:
                return node
            assert time.monotonic() < end, f"still {node['provision_state']} after {seconds} s (see {self.log})"
            time.sleep(0.2)

    def in_state(self, uuid: str, state: str, seconds: float = 60) -> None:
        """Wait until a node is in a state, be it for a moment."""
        until(lambda: self.node(uuid)["provision_state"] == state, seconds, state)

    def go(self, uuid: str, target: str, state: str, **more: Any) -> dict[str, Any]:
        """Ask for a target, wait for the end, and return the node, which must be in a state then."""
        self.ask(uuid, target, **more)
        node = self.rest(uuid)
        assert node["provision_state"] == state, node["last_error"]
        return node

    def release(self, machine: Machine) -> None:
        """Forget the node of a machine, whatever it does, and make the machine as new."""
        for node in self.done("GET", "/v1/nodes/detail")["nodes"]:
            if node["driver_info"].get("redfish_system_id") == machine.system:
                self.remove(node["uuid"])
        machine.reset()

    def remove(self, uuid: str) -> None:
        """Forget a node, whatever it does."""
        self.client.put(f"/v1/nodes/{uuid}/maintenance", json={"reason": "the end of a test"})
        until(lambda: self._is_deleted(uuid), 60, "the removal of a node")

    def _is_deleted(self, uuid: str) -> bool:
        return self.client.delete(f"/v1/nodes/{uuid}").status_code in (204, 404)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The requests that Metal3's baremetal-operator sends for a host, and what it reads of the answers.

Its client is written in Go and not to be had from PyPI, so the sequence is replayed here, at each version that the
operator chooses from.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import httpx

from tests.conformance.checks import Check, attempted
from tests.conformance.nodes import await_state
from tests.conformance.servers import Server

VERSIONS = ("1.89", "1.95", "1.109")
NETWORK: dict[str, list[object]] = {"links": [], "networks": [], "services": []}
MAC, PATIENCE = "52:54:00:00:00:70", 60.0
INTERFACES = ("bios", "boot", "deploy", "firmware", "inspect", "management", "power", "raid", "vendor")
IMAGE = {
    "image_source": "http://127.0.0.1/image.qcow2",
    "image_os_hash_algo": "sha256",
    "image_os_hash_value": "0" * 64,
    "image_disk_format": "qcow2",
}
READ = ("provision_state", "target_provision_state", "power_state", "last_error", "maintenance", "maintenance_reason",
        "fault", "instance_info", "driver_info", "properties", "target_raid_config", "raid_config", "clean_step",
        "service_step", "deploy_interface", "automated_clean", "disable_power_off", "network_data")  # fmt: skip

# What the operator neither sends nor reads where the server is too old for it.
MISSING = {"1.89": ("disable_power_off",)}


class Host:
    """One host of the operator, at one version."""

    def __init__(self, url: str, version: str) -> None:
        headers = {"X-OpenStack-Ironic-API-Version": version, "Openstack-API-Version": f"baremetal {version}"}
        self.client = httpx.Client(base_url=url, headers=headers, timeout=60)
        self.version, self.name, self.uuid = version, "metal3~host", ""

    def ask(self, method: str, path: str, body: Any = None, *, status: int = 200) -> Any:
        """Send a request; the operator treats every status but the one as an error."""
        answer = self.client.request(method, path, json=body)
        assert answer.status_code == status, f"{method} {path}: {answer.status_code} {answer.text[:300]}"
        return answer.json() if answer.content else None

    def patch(self, *operations: tuple[str, str, Any]) -> dict[str, Any]:
        """Change fields of the node; remove operations carry no value."""
        told = [
            {"op": op, "path": path, **({} if op == "remove" else {"value": value})} for op, path, value in operations
        ]
        node: dict[str, Any] = self.ask("PATCH", f"/v1/nodes/{self.uuid}", told)
        return node

    def provision(self, target: str, state: str, **more: Any) -> dict[str, Any]:
        """Ask for a provision state and wait for what comes of it."""
        self.ask("PUT", f"/v1/nodes/{self.uuid}/states/provision", {"target": target, **more}, status=202)
        return await_state(self.client, self.uuid, state)

    def discover(self) -> None:
        """Find that the server is new enough and ready."""
        version = self.ask("GET", "/")["default_version"]
        assert int(version["min_version"].split(".")[1]) <= 89 and int(version["version"].split(".")[1]) >= 109, version
        assert "fake-hardware" in {driver["name"] for driver in self.ask("GET", "/v1/drivers")["drivers"]}

    def register(self) -> None:
        """Look for the node by name and address, create it and its port, and manage it."""
        self.ask("GET", f"/v1/nodes/{self.name}", status=404)
        assert self.ask("GET", f"/v1/ports?address={MAC}&fields=node_uuid")["ports"] == []
        self.uuid = self.ask(
            "POST",
            "/v1/nodes",
            {
                "driver": "fake-hardware",
                "name": self.name,
                "driver_info": {"redfish_address": "https://192.0.2.1", "redfish_password": "secret"},
                **{f"{kind}_interface": "fake" for kind in INTERFACES},
                **{key: False for key in ("disable_power_off",) if key not in MISSING.get(self.version, ())},
                "automated_clean": False,
                "properties": {"capabilities": "boot_mode:uefi", "cpu_arch": "x86_64"},
                "extra": {"a": 1},
            },
            status=201,
        )["uuid"]
        self.ask("POST", "/v1/ports", {"node_uuid": self.uuid, "address": MAC, "pxe_enabled": True}, status=201)
        node = self.ask("GET", f"/v1/nodes/{self.name}")
        assert not (missing := set(READ) - node.keys() - set(MISSING.get(self.version, ()))), missing
        assert node["driver_info"]["redfish_password"] == "******", node["driver_info"]
        assert ("health" in node) is (self.version == "1.109"), "health is read from 1.109 on"
        verdict = self.ask("GET", f"/v1/nodes/{self.uuid}/validate")
        assert all(verdict[kind]["result"] for kind in ("boot", "deploy", "power")), verdict
        self.provision("manage", "manageable")

    def inspect(self) -> None:
        """Inspect it, then look for what was found; a fake machine has told nothing."""
        self.provision("inspect", "manageable")
        self.ask("GET", f"/v1/nodes/{self.uuid}/inventory", status=404)
        self.ask("GET", f"/v1/nodes/{self.uuid}/bios?detail=True")
        self.ask("GET", f"/v1/nodes/{self.uuid}/firmware")

    def prepare(self) -> None:
        """Say how disks are to be joined, clean it with steps that were chosen, and make it available."""
        wanted = {"logical_disks": [{"size_gb": "MAX", "raid_level": "1", "is_root_volume": True}]}
        self.ask("PUT", f"/v1/nodes/{self.uuid}/states/raid", wanted, status=204)
        assert self.ask("GET", f"/v1/nodes/{self.uuid}")["target_raid_config"]["logical_disks"]
        settings = [{"name": "virtualization", "value": "on"}]
        steps = [{"interface": "bios", "step": "apply_configuration", "args": {"settings": settings}}]
        self.provision("clean", "manageable", clean_steps=steps)
        (shown,) = self.ask("GET", f"/v1/nodes/{self.uuid}/bios?detail=True")["bios"]
        assert (shown["name"], shown["value"]) == ("virtualization", "on"), shown
        self.provision("provide", "available")

    def deploy(self) -> None:
        """Say what to write, with the operations that the operator computes, and deploy it with a config drive."""
        added = [("add", f"/instance_info/{key}", value) for key, value in IMAGE.items()]
        uuid = "11111111-2222-4333-8444-555555555555"
        more = [("add", "/instance_info/capabilities", {"boot_mode": "uefi"}), ("add", "/properties/root_device", {})]
        node = self.patch(("replace", "/instance_uuid", uuid), ("replace", "/deploy_interface", None), *added, *more)
        assert IMAGE.items() <= node["instance_info"].items(), "images are compared with what is read"
        self.patch(("add", "/network_data", NETWORK), ("remove", "/properties/root_device", None))
        drive = {"meta_data": {"name": "one"}, "network_data": {}, "user_data": "#cloud-config\n"}
        node = self.provision("active", "active", configdrive=drive)
        assert node["instance_uuid"] == uuid and node["target_provision_state"] is None

    def power(self) -> None:
        """Switch it off softly, on again, and reboot it."""
        for target, state in (("soft power off", "power off"), ("power on", "power on"), ("rebooting", "power on")):
            body = {"target": target} | ({"timeout": 60} if target.startswith("soft") else {})
            self.ask("PUT", f"/v1/nodes/{self.uuid}/states/power", body, status=202)
            end = time.monotonic() + PATIENCE
            while (node := self.ask("GET", f"/v1/nodes/{self.uuid}"))["target_power_state"] is not None:
                assert time.monotonic() < end, f"{target} has no end"
                time.sleep(0.3)
            assert node["power_state"] == state, f"{target}: {node['power_state']}"

    def service(self) -> None:
        """Take a step with a deployed machine."""
        steps = [{"interface": "vendor", "step": "log_passthrough"}]
        self.provision("service", "active", service_steps=steps)

    def maintain(self) -> None:
        """Put it into maintenance and take it out again."""
        path = f"/v1/nodes/{self.uuid}/maintenance"
        self.ask("PUT", path, {"reason": "fenced"}, status=202)
        assert self.ask("GET", f"/v1/nodes/{self.uuid}")["maintenance_reason"] == "fenced"
        self.ask("DELETE", path, status=202)
        assert self.ask("GET", f"/v1/nodes/{self.uuid}")["maintenance"] is False

    def deprovision(self) -> None:
        """Undeploy it."""
        node = self.provision("deleted", "available")
        assert node["instance_uuid"] is None and node["instance_info"] == {}, node

    def adopt(self) -> None:
        """Adopt it as deployed, as after the operator was moved."""
        self.provision("manage", "manageable")
        self.patch(*(("add", f"/instance_info/{key}", value) for key, value in IMAGE.items()))
        self.provision("adopt", "active")

    def delete(self) -> None:
        """Forget it: into maintenance first, as the machine may be gone."""
        self.patch(("replace", "/maintenance", True))
        self.ask("DELETE", f"/v1/nodes/{self.uuid}", status=204)
        self.ask("GET", f"/v1/nodes/{self.uuid}", status=404)
        assert self.ask("GET", f"/v1/ports?address={MAC}")["ports"] == []


STEPS: tuple[Callable[[Host], None], ...] = (
    Host.discover, Host.register, Host.inspect, Host.prepare, Host.deploy, Host.power, Host.service, Host.maintain,
    Host.deprovision, Host.adopt, Host.delete,
)  # fmt: skip


def run(server: Server) -> Iterator[Check]:
    """Take a host through its life at each version."""
    for version in VERSIONS:
        host = Host(server.url, version)
        with host.client:
            yield from attempted([(f"{version} {step.__name__}", partial(step, host)) for step in STEPS])

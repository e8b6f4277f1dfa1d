# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""An honest stand-in for ironic-python-agent: its side of the protocol, over real sockets and without a machine.

It finds its node (inspection report, lookup), serves the command API over HTTPS with a certificate of its own, and
sends heartbeats. Faults are switched on by ``Behaviour``. Source: contract/agent-protocol.md.

As a program: ``python -m tests.integration.server.agent_stub --api URL --mac MAC --log FILE``.
"""

from __future__ import annotations

import argparse
import ipaddress
import json
import random
import signal
import tempfile
import threading
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.integration.server.agent_commands import AgentServer, Behaviour, Commands, Data

VERSION_HEADER = "X-OpenStack-Ironic-API-Version"
LOOKUP_VERSION, HEARTBEAT_VERSION = 62, 68
SHORTEST_TOKEN = 32
GIB = 1024**3


def make_certificate(address: str, now: datetime) -> tuple[str, str]:
    """Return certificate and key as PEM text: as the agent makes them, for one address, from an hour ago on."""
    key = ec.generate_private_key(ec.SECP384R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "agent-stub")])
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), critical=True)
        .sign(key, hashes.SHA384())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return built.public_bytes(serialization.Encoding.PEM).decode(), private.decode()


def make_inventory(macs: Sequence[str], address: str) -> Data:
    """Return the inventory of a small machine."""
    return {
        "interfaces": [
            {"name": f"eth{place}", "mac_address": mac, "ipv4_address": address, "has_carrier": True, "lldp": []}
            for place, mac in enumerate(macs)
        ],
        "cpu": {"count": 2, "architecture": "x86_64", "model_name": "stub", "frequency": "1000", "flags": ["aes"]},
        "memory": {"total": 4 * GIB, "physical_mb": 4096},
        "disks": [{"name": "/dev/sda", "size": 8 * GIB, "rotational": False, "serial": "stub-1", "model": "stub"}],
        "bmc_address": None,
        "bmc_v6address": None,
        "system_vendor": {"manufacturer": "Stub", "product_name": "Agent", "serial_number": "1"},
        "boot": {"current_boot_mode": "uefi", "pxe_interface": None},
        "hostname": "agent-stub",
    }


class AgentStub:
    """One boot of a ramdisk; ``start`` boots it, ``stop`` cuts its power."""

    version = "13.0.0"

    def __init__(
        self,
        api: str,
        macs: Sequence[str],
        *,
        token: str | None = None,
        inspects: bool = False,
        address: str = "127.0.0.1",
        behaviour: Behaviour | None = None,
    ) -> None:
        self.api, self.address, self.token, self.inspects = api.rstrip("/"), address, token, inspects
        self.behaviour = behaviour or Behaviour()
        self.inventory = make_inventory(macs, address)
        self.log: list[Data] = []
        self.log_file: Path | None = None
        self.commands = Commands(self)
        self.beat_now = threading.Event()
        self.silent = threading.Event()
        self.ready = threading.Event()  # the first heartbeat was accepted
        self._client = httpx.Client(base_url=self.api, timeout=30, trust_env=False)
        self._life = threading.Thread(target=self._live, daemon=True)
        self._port, self._certificate = 0, ""

    def start(self) -> AgentStub:
        """Boot."""
        self._life.start()
        return self

    def stop(self) -> None:
        """Cut the power and wait until nothing of the agent is left."""
        self.fall_silent()
        self._life.join(timeout=60)
        self._client.close()

    def fall_silent(self) -> None:
        """Answer nothing and say nothing from now on; the command that is running is not told to have ended."""
        self.silent.set()
        self.beat_now.set()

    def record(self, what: str, **facts: Any) -> None:
        """Note what happened, in memory and in the log file."""
        entry = {"what": what, **facts}
        self.log.append(entry)
        if self.log_file is not None:
            with self.log_file.open("a") as file:
                file.write(json.dumps(entry) + "\n")

    def happened(self, what: str) -> list[Data]:
        """Return the entries of the log that tell this."""
        return [entry for entry in self.log if entry["what"] == what]

    @property
    def url(self) -> str:
        """Return the address that heartbeats tell."""
        return f"{'http' if self.behaviour.plain_http else 'https'}://{self.address}:{self._port}"

    def _live(self) -> None:
        try:
            newest = int(self._client.get("/").json()["default_version"]["version"].split(".")[1])
            uuid = self._inspect() if self.inspects else None
            found = self._look_up(min(newest, LOOKUP_VERSION), uuid)
        except httpx.HTTPError as error:
            self.record("gave up", error=type(error).__name__)
            return
        if found is None or not self._take_token(found["config"].get("agent_token")):
            return
        server = self._serve()
        try:
            self._beat_on(found, min(newest, HEARTBEAT_VERSION))
        finally:
            server.stop()

    def _inspect(self) -> str | None:
        report = {"inventory": self.inventory, "error": None, "boot_interface": None, "logs": "H4sI"}
        answer = self._client.post("/v1/continue_inspection", json=report)
        self.record("inspected", status=answer.status_code)
        return str(answer.json()["uuid"]) if answer.status_code == 202 else None

    def _look_up(self, minor: int, uuid: str | None) -> Data | None:
        addresses = ",".join(each["mac_address"] for each in self.inventory["interfaces"])
        query = {"addresses": addresses} | ({"node_uuid": uuid} if uuid else {})
        end = time.monotonic() + self.behaviour.lookup_seconds
        while not self.silent.is_set() and time.monotonic() < end:
            answer = self._client.get("/v1/lookup", params=query, headers={VERSION_HEADER: f"1.{minor}"})
            self.record("looked up", status=answer.status_code)
            if answer.status_code == 200:
                return dict(answer.json())
            self.silent.wait(0.2)
        return None

    def _take_token(self, token: str | None) -> bool:
        """Keep our own token unless a usable one was handed out; without any the agent locks itself down."""
        if token and len(token) >= SHORTEST_TOKEN:
            self.token = token
        if self.token is None:
            self.record("locked down")
        return self.token is not None

    def _serve(self) -> AgentServer:
        self._certificate, key = make_certificate(self.address, datetime.now(UTC) + self.behaviour.clock)
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(key + self._certificate)
            file.flush()
            server = AgentServer(self, None if self.behaviour.plain_http else Path(file.name))
        self._port = server.server_address[1]
        server.start()
        return server

    def _beat_on(self, found: Data, minor: int) -> None:
        timeout = found["config"]["heartbeat_timeout"]
        while not self.silent.is_set():
            self.beat_now.clear()
            accepted = self._beat(found["node"]["uuid"], minor)
            usual = self.behaviour.heartbeat_seconds or timeout * random.uniform(0.3, 0.6)
            self.beat_now.wait(usual if accepted else min(usual, 5))

    def _beat(self, uuid: str, minor: int) -> bool:
        body = {
            "callback_url": self.url,
            "agent_token": self.behaviour.heartbeat_token or self.token,
            "agent_version": self.version,
            "agent_verify_ca": None if self.behaviour.plain_http else self._certificate,
        }
        try:
            answer = self._client.post(f"/v1/heartbeat/{uuid}", json=body, headers={VERSION_HEADER: f"1.{minor}"})
        except httpx.HTTPError as error:
            self.record("heartbeat", status=None, error=type(error).__name__)
            return False
        self.record("heartbeat", status=answer.status_code)
        if answer.status_code == 202:
            self.ready.set()
        return answer.status_code == 202


def main() -> None:
    """Run one agent until it falls silent or is told to end."""
    parser = argparse.ArgumentParser(prog="python -m tests.integration.server.agent_stub")
    parser.add_argument("--api", required=True, help="URL of the daemon, without /v1")
    parser.add_argument("--mac", required=True, action="append", help="address of an interface")
    parser.add_argument("--token", help="token that the boot media brought")
    parser.add_argument("--inspect", action="store_true", help="send an inspection report first")
    parser.add_argument("--log", type=Path, help="file that tells what happened, one JSON object a line")
    given = parser.parse_args()
    stub = AgentStub(given.api, given.mac, token=given.token, inspects=given.inspect)
    stub.log_file = given.log
    signal.signal(signal.SIGTERM, lambda *_: stub.fall_silent())
    stub.start()
    stub.silent.wait()
    stub.stop()


if __name__ == "__main__":
    main()

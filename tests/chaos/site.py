# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A site: one daemon with SQLite, or hosts with an API process and a conductor each that share a PostgreSQL."""

from __future__ import annotations

import itertools
import json
import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from rackwright.store.sealing import read_key
from tests.chaos.processes import Process
from tests.integration.server.daemon_house import VERSION, command, free_port
from tests.integration.server.simulated_house import Data, Rack, make_files, node_of
from tests.unit.server import databases

QUICK: Mapping[str, object] = {
    "enabled_hardware_types": "redfish",
    "check_provision_state_interval": 1,
    "cache_clean_up_interval": 5,
    "heartbeat_interval": 2,
    "heartbeat_timeout": 10,
    "inspect_wait_timeout": 60,
    "clean_callback_timeout": 60,
    "deploy_callback_timeout": 60,
    "boot_retries": 5,
}
"""Settings; a machine whose BMC fetches the medium while the API is killed boots nothing, and is to be booted again."""

_FIELDS = "uuid,name,provision_state,target_provision_state,reservation,last_error,inspection_finished_at"
_HARMLESS = (400, 404, 409)  # answers that a request may get which comes a second time, or too early


class Host:
    """One host with a state directory of its own."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name, self.state, self.log, self.port = name, folder / name, folder / f"{name}.log", free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.state.mkdir(mode=0o700, parents=True)
        self.processes: Sequence[Process] = ()

    def run(self, kinds: Sequence[str], settings: Mapping[str, object]) -> None:
        """Have these processes from now on."""
        given = {**QUICK, "conductor_host": self.name, "state_dir": self.state, "port": self.port, **settings}
        clean = {key: value for key, value in os.environ.items() if not key.startswith("RACKWRIGHT_")}
        environment = clean | {f"RACKWRIGHT_{key.upper()}": str(value) for key, value in given.items()}
        self.processes = [Process(command(kind), environment, self.log) for kind in kinds]


class Site:
    """All hosts, their database, and what a client asks them."""

    def __init__(
        self,
        folder: Path,
        rack: Rack,
        *,
        hosts: int = 1,
        server: databases.Server | None = None,
        url: Callable[[int], str] | None = None,
    ) -> None:
        """Describe a site; ``url`` tells what each host calls the database, by its number from 0 on."""
        folder.mkdir()
        self.folder, self.rack, self.server = folder, rack, server
        self._files = make_files(folder / "files")
        self.hosts = [Host(folder, f"host-{number}") for number in range(1, hosts + 1)]
        for number, host in enumerate(self.hosts):
            host.run(*self._set_up(host, url(number) if url else None))
        timeout = httpx.Timeout(10, connect=2)
        self._clients = [httpx.Client(base_url=host.url, headers=VERSION, timeout=timeout) for host in self.hosts]
        self._next = itertools.count()

    def _set_up(self, host: Host, url: str | None) -> tuple[Sequence[str], Mapping[str, object]]:
        common: dict[str, object] = {"file_url_allowed_paths": json.dumps([str(self._files)])}
        if url is None:
            return ("serve",), common
        key = self.folder / "secret.key"
        read_key(key)
        (host.state / key.name).write_bytes(key.read_bytes())
        (host.state / key.name).chmod(0o600)
        urls = {"external_http_url": host.url, "external_callback_url": self.hosts[-1].url}
        return ("api", "conductor"), {**common, **urls, "database_url": url}

    def database_url(self) -> str:
        """Return the URL by which we look into the database."""
        if self.server is not None:
            return self.server.url(databases.NAME)
        return f"sqlite:///{self.hosts[0].state / 'rackwright.sqlite'}"

    def revive(self) -> None:
        """Start what has ended."""
        if self.server is not None:
            self.server.revive()
        for host in self.hosts:
            for process in host.processes:
                process.revive()

    def stop(self) -> None:
        """Stop all but the database, which goes on."""
        if self.server is not None:
            self.server.start()
        for client in self._clients:
            client.close()
        for host in self.hosts:
            for process in reversed(host.processes):
                process.stop()

    def ask(self, method: str, path: str, body: Any = None) -> httpx.Response | None:
        """Send a request to one API after the other; return the first answer, None when nobody answers."""
        first = next(self._next)
        for number in range(len(self._clients)):
            try:
                answer = self._clients[(first + number) % len(self._clients)].request(method, path, json=body)
            except httpx.TransportError:
                continue
            if answer.status_code < 500:
                return answer
        return None

    def nodes(self) -> Mapping[str, Data] | None:
        """Return what is to be seen of all nodes by UUID, None when nobody answers."""
        answer = self.ask("GET", f"/v1/nodes?fields={_FIELDS}")
        if answer is None:
            return None
        return {node["uuid"]: node for node in answer.raise_for_status().json()["nodes"]}

    def enroll(self, machine: Data) -> bool:
        """Create a machine's node and port unless they are there; tell whether they are now."""
        ident = str(uuid.uuid5(uuid.NAMESPACE_URL, machine["name"]))
        node = {"uuid": ident, **node_of(machine, self.rack, self._files)}
        port = {"node_uuid": ident, "address": machine["mac"]}
        return self._sent("POST", "/v1/nodes", node) and (
            self._sent("POST", "/v1/ports", port) or self._has_port(machine["mac"])
        )

    def _has_port(self, address: str) -> bool:
        answer = self.ask("GET", f"/v1/ports?address={address}")
        return answer is not None and bool(answer.raise_for_status().json()["ports"])

    def verb(self, node: str, target: str) -> bool:
        """Ask for a provision target; tell whether somebody has answered."""
        return self._sent("PUT", f"/v1/nodes/{node}/states/provision", {"target": target})

    def _sent(self, method: str, path: str, body: Data) -> bool:
        answer = self.ask(method, path, body)
        if answer is None:
            return False
        if answer.status_code >= 300 and answer.status_code not in _HARMLESS:
            answer.raise_for_status()
        return answer.status_code < 300 or (path == "/v1/nodes" and answer.status_code == 409)

# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The rack itself: its machines, their BMCs and agents, until it is told to stop."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import resource
import signal
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import uvloop

from rackwright_lab.certificate import make_certificate
from rackwright_lab.errors import AlreadyRunningError, LabError
from rackwright_lab.files import write_whole
from rackwright_lab.simulated.agent import Agent
from rackwright_lab.simulated.control import Control
from rackwright_lab.simulated.faults import Faults, load_profile
from rackwright_lab.simulated.history import History
from rackwright_lab.simulated.http import NOTHING, Answer, Data, Handler, Request, listen
from rackwright_lab.simulated.machine import Machine, Surroundings
from rackwright_lab.simulated.options import SimulatedOptions
from rackwright_lab.simulated.service import PASSWORD, USERNAME, Service

_PATIENCE = aiohttp.ClientTimeout(total=120, connect=60)
_IDLE = 2.0  # seconds that a connection is kept: less than servers keep it, which else close one that is just used
_AT_ONCE = 256  # requests of all agents together; the others wait


@dataclass
class _Agents:
    """Where the agents of all machines serve their commands: one port, a path for each machine."""

    machines: Mapping[str, Machine]
    certificate: str | None = None
    url: str = ""

    async def answer(self, request: Request) -> Answer:
        _, name, *rest = request.path.split("/")
        machine = self.machines.get(name)
        agent = machine.running if machine else None
        if not isinstance(agent, Agent) or not agent.serves:
            return NOTHING
        path = "/".join(rest)
        return await agent.commands.answer(Request(**{**vars(request), "path": path}))

    def boot(self, machine: Machine, parameters: Mapping[str, str]) -> Agent:
        return Agent(machine, parameters, f"{self.url}/{machine.name}", self.certificate)


class Rack:
    """A rack that runs in an event loop of the caller."""

    def __init__(self, options: SimulatedOptions) -> None:
        """Describe a rack; `start` builds it."""
        self.options = options
        self.machines: Sequence[Machine] = ()
        self.faults = Faults([f"node-{number}" for number in range(1, options.machines + 1)], options.seed)
        self._servers: list[asyncio.Server] = []
        self._services: list[Service] = []

    async def start(self) -> None:
        """Build the rack, and leave its description in its folder; raise LabError."""
        options = self.options
        if options.faults:
            self.faults.replace(load_profile(options.faults))
        options.histories.mkdir(parents=True, exist_ok=True)
        for old in options.histories.glob("*.jsonl"):
            old.unlink()
        self._client = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=_AT_ONCE, keepalive_timeout=_IDLE), timeout=_PATIENCE
        )
        agents = _Agents({})
        self._around = Surroundings(options, self._client, agents.boot)
        begin = time.monotonic()
        self.machines = [
            Machine(number, self._around, faults, History(options.histories / f"{name}.jsonl", begin))
            for number, (name, faults) in enumerate(self.faults.machines.items(), start=1)
        ]
        agents.machines = {machine.name: machine for machine in self.machines}
        await self._serve_agents(agents)
        urls = await self._serve_bmcs()
        port = await self._listen(Control(self.machines, self.faults, self._load).answer)
        write_whole(options.description, json.dumps(self._describe(urls, port), indent=2) + "\n")

    async def _serve_agents(self, agents: _Agents) -> None:
        tls = None
        if self.options.tls:
            certificate, key = make_certificate(self.options.directory, self.options.host)
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.minimum_version = ssl.TLSVersion.TLSv1_3
            tls.load_cert_chain(certificate, key)
            agents.certificate = certificate.read_text()
        port = await self._listen(agents.answer, tls=tls)
        agents.url = f"{'https' if tls else 'http'}://{self.options.host}:{port}"

    async def _serve_bmcs(self) -> list[str]:
        """Return the URL of each machine's BMC."""
        groups = [[machine] for machine in self.machines] if self.options.bmc_ports else [self.machines]
        self._services = [Service(group, self.faults.shared, self.options.session) for group in groups]
        wanted = self.options.port
        places = enumerate(self._services)
        ports = [await self._listen(service.answer, wanted + place if wanted else 0) for place, service in places]
        urls = [f"http://{self.options.host}:{port}" for port in ports]
        return urls if self.options.bmc_ports else urls * len(self.machines)

    async def _listen(self, handler: Handler, port: int = 0, tls: ssl.SSLContext | None = None) -> int:
        found, server = await listen(handler, self.options.host, port, tls=tls)
        self._servers.append(server)
        return found

    def _load(self) -> Data:
        services = self._services
        return {
            "sessions": sum(len(service.sessions) for service in services),
            "requests": sum(service.requests for service in services),
        }

    def _describe(self, urls: Sequence[str], control: int) -> Data:
        return {
            **{"name": "simulated", "tier": "simulated", "host": self.options.host, "redfish": urls[0]},
            **{"username": USERNAME, "password": PASSWORD, "certificate": None},
            "control": f"http://{self.options.host}:{control}",
            "machines": [
                {
                    "name": machine.name,
                    "redfish": url,
                    "system": f"/redfish/v1/Systems/{machine.uuid}",
                    "mac": machine.mac,
                    "history": str(self.options.histories / f"{machine.name}.jsonl"),
                }
                for machine, url in zip(self.machines, urls, strict=True)
            ],
        }

    async def stop(self) -> None:
        """Leave nothing but the histories."""
        self.options.description.unlink(missing_ok=True)
        for server in self._servers:
            server.close()
        tasks = list(self._around.tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._client.close()


def run_simulated(options: SimulatedOptions) -> None:
    """Run a rack until SIGTERM or SIGINT.

    Raises:
        AlreadyRunningError: a rack runs in this folder.
        LabError: the rack could not be built.
    """
    with _held(options.directory):
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        uvloop.run(_until_told(Rack(options)))


async def _until_told(rack: Rack) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    try:
        await rack.start()
    except OSError as error:
        raise LabError(f"Could not build the simulated rack: {error}. Choose another port or folder.") from error
    await stop.wait()
    await rack.stop()


@contextmanager
def _held(directory: Path) -> Iterator[None]:
    """Hold the right to run the rack of a folder; raise AlreadyRunningError."""
    directory.mkdir(parents=True, exist_ok=True)
    lock = os.open(directory / "rack.lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(lock)
        raise AlreadyRunningError(f"Could not start a rack in {directory}: another one runs. Stop it first.") from error
    try:
        yield
    finally:
        os.close(lock)

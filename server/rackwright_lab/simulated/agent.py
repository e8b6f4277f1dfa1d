# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""A simulated agent: finds its node, serves its commands and sends heartbeats, while its machine has power.

Source: sections 1 and 2 of the agent's protocol, as ironic-python-agent 13 speaks it.
"""

from __future__ import annotations

import asyncio
import random
import secrets
import time
from collections.abc import Coroutine, Mapping
from typing import Any

import aiohttp

from rackwright_lab.simulated.commands import Commands
from rackwright_lab.simulated.http import Data
from rackwright_lab.simulated.machine import Machine

VERSION_HEADER = "X-OpenStack-Ironic-API-Version"
_OLDEST, _LOOKUP, _HEARTBEAT = 31, 62, 68
_SHORTEST_TOKEN = 32
_INSPECTION_TRIES = 5
_AGAIN = (1.0, 30.0)  # seconds to the next lookup: at first, at most
_AFTER_ERROR = (5.0, 10.0)  # seconds to the next heartbeat after one that was refused
_GIB = 1 << 30


class Agent:
    """One boot of the agent."""

    version = "13.0.0"

    def __init__(self, machine: Machine, parameters: Mapping[str, str], url: str, certificate: str | None) -> None:
        """Start on a machine with the kernel's parameters; ``url`` is where its commands are served."""
        self.machine, self._parameters = machine, parameters
        self._url, self._certificate = url, certificate
        self._client = machine.around.client
        self._api = parameters.get("ipa-api-url", "").split(",")[0].rstrip("/")
        self._token = parameters.get("ipa-agent-token")
        self._api_version: int | None = None
        self._sooner = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self.serves = False
        self.started_at = time.time()
        self.commands = Commands(self)
        machine.history.add("agent starts", api=self._api)
        self.start(self._live())

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Do some work, as long as the agent runs."""
        task = self.machine.around.start(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def end(self) -> None:
        """Fall silent."""
        self.serves = False
        current = asyncio.current_task()
        for task in self._tasks - {current} if current else self._tasks:
            task.cancel()

    def beat_now(self) -> None:
        """Send a heartbeat as soon as that is allowed."""
        self._sooner.set()

    def knows(self, token: str) -> bool:
        """Return whether a request with this token is from the one who may command."""
        return bool(self._token) and secrets.compare_digest(token.encode(), str(self._token).encode())

    def inventory(self) -> Data:
        """Return what the agent sees of its machine."""
        serial = f"{self.machine.name}-disk"
        disk = {"name": "/dev/sda", "model": "simulated", "size": 100 * _GIB, "rotational": False, "serial": serial}
        card: Data = {
            "name": "eth0",
            "mac_address": self.machine.mac,
            "ipv4_address": None,
            "has_carrier": True,
            "lldp": [],
        }
        return {
            "interfaces": [{**card, "ipv4_address": None, "vendor": "0x1af4", "product": "0x0001", "client_id": None}],
            "cpu": {"model_name": "Simulated", "frequency": "2000", "count": 8, "architecture": "x86_64", "flags": []},
            "disks": [{**disk, "wwn": None, "vendor": None, "hctl": None, "by_path": None, "tran": "sata"}],
            "memory": {"total": 16 * _GIB, "physical_mb": 16 * 1024},
            "bmc_address": None,
            "bmc_v6address": None,
            "system_vendor": {
                "product_name": "Simulated",
                "serial_number": self.machine.name,
                "manufacturer": "Rackwright",
                "firmware": {"vendor": "", "version": self.machine.firmware, "build_date": ""},
            },
            "boot": {"current_boot_mode": self.machine.boot.mode.lower(), "pxe_interface": None},
            "hostname": self.machine.name,
        }

    async def _live(self) -> None:
        faults, history = self.machine.faults, self.machine.history
        if faults.strikes("wait-state-without-deadline"):
            history.add("fault", fault="wait-state-without-deadline")
            return
        uuid = await self._inspect()
        if not self._api:
            history.add("agent ends", why="its kernel parameters name no API")
            return
        found = await self._look_up(uuid)
        token = found["config"].get("agent_token") or ""
        if len(token) >= _SHORTEST_TOKEN:
            self._token = token
        if faults.strikes("token-lost"):
            history.add("fault", fault="token-lost")
            self._token = secrets.token_urlsafe(32)
        if self._token is None:
            history.add("agent ends", why="it has no token and locks itself down")
            return
        self.serves = True
        await self._beat_on(found)

    async def _ask(self, method: str, path: str, minor: int | None = None, **more: Any) -> tuple[int, Data]:
        """Return the answer of the API, status 0 when there is none."""
        headers = {} if minor is None else {VERSION_HEADER: f"1.{minor}"}
        url = path if "://" in path else f"{self._api}{path}"
        try:
            async with self._client.request(method, url, headers=headers, **more) as answer:
                body = await answer.json() if answer.content_type == "application/json" else {}
                return answer.status, body if isinstance(body, dict) else {}
        except (aiohttp.ClientError, TimeoutError, ValueError):
            return 0, {}

    async def _newest(self, known: int) -> int:
        """Return the newest version that both know; where none is told now, the oldest, and ask again next time."""
        if self._api_version is None:
            _, root = await self._ask("GET", "/")
            version = str((root.get("default_version") or {}).get("version") or "")
            self._api_version = int(version.partition(".")[2]) if version else None
        return min(self._api_version or _OLDEST, known)

    async def _inspect(self) -> str | None:
        callback = self._parameters.get("ipa-inspection-callback-url")
        if not callback:
            return None
        report = {"inventory": self.inventory(), "error": None, "boot_interface": None, "logs": ""}
        report |= {"root_disk": None, "configuration": {"collectors": ["default", "logs"], "managers": []}}
        for _attempt in range(_INSPECTION_TRIES):
            status, body = await self._ask("POST", callback, json=report)
            self.machine.history.add("inspected", status=status)
            if status == 202:
                return str(body.get("uuid") or "") or None
            if status and status != 409 and status < 500:
                return None
            await asyncio.sleep(random.uniform(*_AFTER_ERROR))
        return None

    async def _look_up(self, uuid: str | None) -> Data:
        query = {"addresses": self.machine.mac} | ({"node_uuid": uuid} if uuid else {})
        pause, longest = _AGAIN
        while True:
            status, found = await self._ask("GET", "/v1/lookup", await self._newest(_LOOKUP), params=query)
            lost = self.machine.faults.strikes("lookup-answer-lost")
            self.machine.history.add("lookup", status=status, arrived=lost is None)
            if status == 200 and lost is None:
                return found
            await asyncio.sleep(pause * random.uniform(0.5, 1.5))
            pause = min(pause * 2, longest)

    async def _beat_on(self, found: Data) -> None:
        timeout, least = float(found["config"]["heartbeat_timeout"]), self.machine.around.options.beat
        while True:
            self._sooner.clear()
            began = time.monotonic()
            accepted = await self._beat(str(found["node"]["uuid"]))
            usual = timeout * random.uniform(0.3, 0.6) if accepted else random.uniform(*_AFTER_ERROR)
            try:
                await asyncio.wait_for(self._sooner.wait(), usual)
            except TimeoutError:
                continue
            await asyncio.sleep(max(0.0, least - (time.monotonic() - began)))

    async def _beat(self, uuid: str) -> bool:
        if self.machine.faults.strikes("heartbeat-lost"):
            self.machine.history.add("fault", fault="heartbeat-lost")
            return False
        body = {"callback_url": self._url, "agent_token": self._token, "agent_version": self.version}
        body |= {"agent_verify_ca": self._certificate} if self._certificate else {}
        path, minor = f"/v1/heartbeat/{uuid}", await self._newest(_HEARTBEAT)
        status, _ = await self._ask("POST", path, minor, json=body)
        self.machine.history.add("heartbeat", status=status)
        if self.machine.faults.strikes("step-after-bios-skipped"):
            await self._ask("POST", path, minor, json=body)
        return status == 202

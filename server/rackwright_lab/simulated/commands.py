# Copyright: Rackwright contributors
# SPDX-License-Identifier: Apache-2.0
"""The command API of a simulated agent: one command at a time, results oldest first.

Source: section 3 of the agent's protocol, as ironic-python-agent 13 speaks it.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import aiohttp

from rackwright_lab.simulated.http import NOTHING, Answer, Data, Refused, Request

if TYPE_CHECKING:
    from rackwright_lab.simulated.agent import Agent

RUNNING, SUCCEEDED, FAILED, MISMATCH = "RUNNING", "SUCCEEDED", "FAILED", "CLEAN_VERSION_MISMATCH"
MANAGERS = {"simulated_hardware_manager": "1.0"}
KINDS = ("clean", "deploy", "service")
ERASES = "erase_devices"
_TRIES, _REST = 50, 2.0  # to fetch an image, and seconds between two; the real agent tries 10 times in as long


def _step(name: str, interface: str = "deploy", priority: int = 0) -> Data:
    usual = {"reboot_requested": False, "abortable": True, "argsinfo": None, "requires_ramdisk": True}
    return {"step": name, "interface": interface, "priority": priority, **usual}


STEPS: Mapping[str, Sequence[Data]] = {
    "clean": (
        *(_step("erase_devices_metadata", priority=99), _step("erase_devices", priority=10)),
        *(_step("burnin_cpu"), _step("create_configuration", "raid"), _step("delete_configuration", "raid")),
    ),
    "deploy": (_step("write_image"), _step("inject_files"), _step("apply_configuration", "raid")),
    "service": (_step("burnin_cpu"), _step("burnin_memory")),
}


class _Failed(Exception):
    """A command cannot be carried out."""


class Commands:
    """The commands of one boot of an agent."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._options = agent.machine.around.options
        self._running = ""
        self.results: list[Data] = []
        self._quick: Mapping[str, Callable[[Data], Any]] = {
            **{f"{kind}.get_{kind}_steps": self._lister(kind) for kind in KINDS},
            "standby.get_partition_uuids": lambda _: {},
            "standby.sync": lambda _: None,
            "rescue.finalize_rescue": self._rescue,
            "log.collect_system_logs": self._logs,
            "system.lockdown": lambda _: self._agent.end(),
            "poll.get_hardware_info": lambda _: self._agent.inventory(),
        }
        self._slow: Mapping[str, Callable[[Data], Awaitable[Any]]] = {
            **{f"{kind}.execute_{kind}_step": self._runner(kind) for kind in KINDS},
            "standby.prepare_image": self._prepare_image,
            "standby.execute_bootc_install": self._wait,
            "image.install_bootloader": self._wait,
            "standby.run_image": self._wait,
            "standby.power_off": self._nothing,
        }

    async def answer(self, request: Request) -> Answer:
        """Answer a request whose path begins after the agent's address."""
        parts = [part for part in request.path.split("/") if part and part != "v1"]
        if not parts:
            return Answer(200, {"name": "Simulated agent", "versions": [], "links": []})
        if parts == ["status"]:
            return Answer(200, {"started_at": self._agent.started_at, "version": self._agent.version})
        if not self._agent.knows(request.query.get("agent_token", "")):
            self._agent.machine.history.add("unauthorized", request=f"{request.method} {request.path}")
            return _fault(401, "Token invalid.")
        if parts[0] != "commands":
            return _fault(404, "There is no such resource")
        if request.method == "POST":
            return await self._post(request)
        return self._get(parts)

    def _get(self, parts: Sequence[str]) -> Answer:
        if len(parts) == 1:
            return Answer(200, {"commands": self.results})
        found = next((each for each in self.results if each["id"] == parts[1]), None)
        return _fault(404, "There is no such command") if found is None else Answer(200, found)

    async def _post(self, request: Request) -> Answer:
        name, params = request.body.get("name"), request.body.get("params")
        if not isinstance(name, str) or not isinstance(params, dict):
            return _fault(400, "Invalid command request")
        try:
            result, work = self._begin(name, params)
        except Refused as refused:
            return refused.answer
        if request.query.get("wait") == "true":
            await asyncio.shield(work)
        lost = self._agent.machine.faults.strikes("command-answer-lost", step=_named(name, params))
        if lost is not None:
            self._agent.machine.history.add("fault", fault=lost.rule.fault)
            return NOTHING
        return Answer(200, dict(result))

    def _begin(self, name: str, params: Data) -> tuple[Data, asyncio.Future[None]]:
        known = {**self._quick, **self._slow}
        if name not in known:
            extensions = {each.partition(".")[0] for each in known}
            raise Refused(_fault(400 if name.partition(".")[0] in extensions else 404, f"Unknown command {name}"))
        history, quick = self._agent.machine.history, name in self._quick
        if self._running:
            history.add("busy", command=_named(name, params), running=self._running)
            raise Refused(_fault(409, "Agent is busy"))
        result: Data = {"id": secrets.token_hex(8), "command_name": name.partition(".")[2]}
        result |= {"command_status": RUNNING, "command_error": None, "command_result": None}
        self.results.append(result)
        history.add("command begins", command=name, step=_step_name(params), quick=quick)
        if quick:
            self._settle(name, params, result, lambda: self._quick[name](params))
            done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            done.set_result(None)
            return dict(result), done
        self._running = _named(name, params)
        return result, self._agent.start(self._work(name, params, result))

    async def _work(self, name: str, params: Data, result: Data) -> None:
        faults, history = self._agent.machine.faults, self._agent.machine.history
        try:
            if faults.strikes("agent-dies", step=_named(name, params)):
                await asyncio.sleep(self._options.step / 2)
                history.add("agent dies", command=name)
                self._agent.end()
                return
            value = await self._slow[name](params)
            self._settle(name, params, result, lambda: value)
        except (_Failed, KeyError, TypeError, aiohttp.ClientError, TimeoutError) as error:
            self._settle(name, params, result, _raiser(error))
        finally:
            self._running = ""
        self._after(name)

    def _settle(self, name: str, params: Data, result: Data, produce: Callable[[], Any]) -> None:
        try:
            if self._agent.machine.faults.strikes("step-fails", step=_named(name, params)):
                raise _Failed("a fault was asked for")
            value = produce()
            status = MISMATCH if value == MISMATCH else SUCCEEDED
            result["command_result"] = {} if status == MISMATCH else value
        except Exception as error:  # an agent tells every failure of a command as its result
            told = {"type": type(error).__name__.strip("_"), "code": 500, "message": "Command failed"}
            status, result["command_error"] = FAILED, {**told, "details": str(error)}
        result["command_status"] = status
        self._agent.machine.history.add("command ends", command=name, step=_step_name(params), status=status)

    def _after(self, name: str) -> None:
        match name:
            case "standby.power_off":
                self._agent.machine.reset("GracefulShutdown")
            case "standby.run_image":
                self._agent.machine.restart()
            case _:
                self._agent.beat_now()

    def _lister(self, kind: str) -> Callable[[Data], Data]:
        def listing(_: Data) -> Data:
            steps = {"SimulatedHardwareManager": list(STEPS[kind])}
            return {f"{kind}_steps": steps, "hardware_manager_version": MANAGERS}

        return listing

    def _runner(self, kind: str) -> Callable[[Data], Awaitable[Any]]:
        async def running(params: Data) -> Any:
            version = params.get(f"{kind}_version")
            if version is not None and version != MANAGERS:
                return MISMATCH
            step = params["step"]
            name = str(step["step"])
            await asyncio.sleep(self._options.step)
            if name.startswith(ERASES):
                self._agent.machine.image = None
                self._agent.machine.history.add("erased", step=name)
            if name == "write_image":
                await self._write(step["args"]["image_info"], step["args"].get("configdrive"))
            return {f"{kind}_result": None, f"{kind}_step": step}

        return running

    async def _prepare_image(self, params: Data) -> str:
        await asyncio.sleep(self._options.step)
        await self._write(params["image_info"], params.get("configdrive"))
        return "prepare_image: image written to device /dev/sda"

    async def _write(self, info: Data, configdrive: object) -> None:
        wanted = str(info.get("os_hash_value") or info.get("checksum") or "")
        if not wanted:
            raise _Failed("the image has no checksum")
        url = str(info["urls"][0])
        found = await self._fetch(url, str(info.get("os_hash_algo") or "sha256"))
        if found != wanted.lower():
            raise _Failed(f"the image has the sum {found}, expected was {wanted}")
        self._agent.machine.image = wanted
        drive = hashlib.sha256(str(configdrive).encode()).hexdigest() if configdrive else None
        self._agent.machine.history.add("image written", url=url, sum=wanted, configdrive=drive)

    async def _fetch(self, url: str, algorithm: str) -> str:
        """Return the sum of what is at a URL; a connection that breaks off is tried again, as by the real agent."""
        for _attempt in range(_TRIES - 1):
            try:
                return await self._sum(url, algorithm)
            except aiohttp.ClientError:
                await asyncio.sleep(_REST)
        return await self._sum(url, algorithm)

    async def _sum(self, url: str, algorithm: str) -> str:
        content = hashlib.new(algorithm)
        async with self._agent.machine.around.client.get(url) as answer:
            if answer.status != 200:
                raise _Failed(f"the image cannot be fetched: HTTP {answer.status}")
            async for chunk in answer.content.iter_chunked(1 << 20):
                content.update(chunk)
        return content.hexdigest()

    async def _wait(self, _params: Data) -> None:
        await asyncio.sleep(self._options.step)

    async def _nothing(self, _params: Data) -> None:
        """Do what is done by the way."""

    def _rescue(self, params: Data) -> None:
        self._agent.machine.history.add("rescue password set", hashed=bool(params.get("hashed")))
        self._agent.end()

    def _logs(self, _params: Data) -> Data:
        text = "\n".join(str(entry) for entry in self._agent.machine.history.last)
        return {"system_logs": base64.b64encode(gzip.compress(text.encode())).decode()}


def _raiser(error: BaseException) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


def _step_name(params: Data) -> str | None:
    step = params.get("step")
    return str(step.get("step")) if isinstance(step, dict) else None


def _named(name: str, params: Data) -> str:
    """Return the name of the step that a command carries out, else its own."""
    return _step_name(params) or name


def _fault(status: int, text: str) -> Answer:
    return Answer(status, {"faultcode": "Client", "faultstring": text})
